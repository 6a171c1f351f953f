package faultproxy

import "strings"

// garble is an answer that has nothing to do with the prompt: token by token
// something else is said, tool calls included. Reasoning stays.
type garble struct {
	token  func(i int) (text string, more bool)
	least  int    // tokens, however short the answer was
	finish string // "": as it was, a call becoming a stop
}

// filter returns the filter of one request. The usage follows what is said.
func (g garble) filter() filter {
	s := &garbled{garble: g}
	return filter{event: s.event, body: s.body}
}

type garbled struct {
	garble
	taken, said int // tokens of the upstream, tokens of ours
	over        bool
}

func (g *garbled) next() (string, bool) {
	if g.over {
		return "", false
	}
	text, more := g.token(g.said)
	if !more {
		g.over = true
		return "", false
	}
	g.said++
	return text, true
}

func (g *garbled) event(e *event, out outlet) {
	list := parts(e.doc)
	keep := len(list) == 0 // usage, [DONE], what is not ours
	for _, p := range list {
		if g.part(e, p, out) {
			keep = true
		}
	}
	if g.said != g.taken && g.bill(e.doc) {
		e.changed()
	}
	if keep {
		out.send(e)
	}
}

// part changes one choice of a chunk and says whether the chunk still has a purpose.
func (g *garbled) part(e *event, p part, out outlet) bool {
	here := slot{choice: p.index(), channel: visible, name: p.key}
	_, thoughts := p.thoughts()
	speaks := p.visible() != "" || len(p.calls()) > 0
	finishes := p.finish() != ""
	if !speaks && !finishes {
		return true
	}
	e.changed()
	p.dropCalls()
	if speaks {
		g.taken++
	}
	if !finishes {
		text, more := g.next()
		p.setVisible(text)
		return more || thoughts != "" || p.box["role"] != nil
	}
	p.setVisible("")
	for speaks || g.said < g.least {
		speaks = false
		text, more := g.next()
		if !more {
			break
		}
		out.send(e.like(here, text))
	}
	if g.finish != "" {
		p.setFinish(g.finish)
	}
	return true
}

func (g *garbled) body(doc object) bool {
	for _, p := range parts(doc) {
		p.dropCalls()
		usage, _ := doc["usage"].(object)
		g.taken = max(toInt(usage["completion_tokens"]), 1)
		var b strings.Builder
		for g.said < max(g.taken, g.least) {
			text, more := g.next()
			if !more {
				break
			}
			b.WriteString(text)
		}
		p.setVisible(b.String())
		if g.finish != "" {
			p.setFinish(g.finish)
		}
	}
	g.bill(doc)
	return true
}

// bill adds to the usage what was said beyond what the upstream said.
func (g *garbled) bill(doc object) bool {
	usage, ok := doc["usage"].(object)
	if !ok || usage["completion_tokens"] == nil {
		return false
	}
	was := toInt(usage["completion_tokens"])
	now := max(was+g.said-g.taken, 1)
	usage["completion_tokens"] = toNumber(now)
	usage["total_tokens"] = toNumber(toInt(usage["total_tokens"]) + now - was)
	return true
}
