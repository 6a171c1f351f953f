package faultproxy

import (
	"maps"
	"strings"
)

// Answers to requests with tools that are parsed and still of no use.

type writtenCall struct {
	index               int
	id, name, arguments string
}

// calls are put together from the pieces of a stream.
type calls []writtenCall

// note adds what p says of calls, and says whether that is anything.
func (w *calls) note(p part) bool {
	list := p.calls()
	for i, c := range list {
		if _, ok := c["index"]; ok {
			i = toInt(c["index"])
		}
		f, _ := c["function"].(object)
		w.add(writtenCall{i, toText(c["id"]), toText(f["name"]), toText(f["arguments"])})
	}
	return len(list) > 0
}

func (w *calls) add(c writtenCall) {
	for i := range *w {
		if was := &(*w)[i]; was.index == c.index {
			was.id += c.id
			was.name += c.name
			was.arguments += c.arguments
			return
		}
	}
	*w = append(*w, c)
}

var _ = register(fault{
	Info: Info{
		ID: "call-runs-on", Stage: 2, Modes: []string{"TOOL-09"},
		Doc: "the arguments of tool calls end halfway in blanks and line breaks and the finish reason is length",
	},
	build: always(acts{answer: func(*exchange) filter {
		cut := rewriteText(onlyArguments, func() rewriter {
			var said []rune
			sent := 0
			return rewriter{
				// Nobody knows where the middle will be, so what leaves is half of what came.
				feed: func(s string) string {
					said = append(said, []rune(s)...)
					out := string(said[sent : len(said)/2])
					sent = len(said) / 2
					return out
				},
				rest: func() string { return strings.Repeat(" \n", 150) },
			}
		})
		called := map[int]bool{} // by choice
		return changedFirst(cut, eachPart(func(p part) bool {
			called[p.index()] = called[p.index()] || len(p.calls()) > 0
			return called[p.index()] && endAs(p, "length")
		}))
	}}),
})

// endAs changes a finish reason, where there is one.
func endAs(p part, reason string) bool {
	return p.finish() != "" && p.finish() != reason && swapFinish(p, p.finish(), reason)
}

var _ = register(fault{
	Info: Info{
		ID: "call-storm", Stage: 3, Modes: []string{"AGT-02"},
		Doc: "after some requests an answer with one tool call has it many times",
		Params: []Param{
			number("calls", "24", "how many times"),
			number("after", "8", "generation requests that are still good"),
		},
	},
	build: func(o options) acts {
		return acts{answer: func(*exchange) filter {
			s := &storm{calls: o.number("calls"), seen: map[int]*calls{}}
			return filter{event: s.event, body: s.body}
		}}
	},
})

type storm struct {
	calls int
	seen  map[int]*calls // by choice
}

// more makes the calls beyond the first; no two have one id.
func (s *storm) more(call object) (out []any) {
	for i := 1; i < s.calls; i++ {
		again := maps.Clone(call)
		n := toNumber(i)
		again["id"] = toText(call["id"]) + "-" + string(n)
		if _, ok := call["index"]; ok {
			again["index"] = n
		}
		out = append(out, again)
	}
	return out
}

func (s *storm) event(e *event, out outlet) {
	for _, p := range parts(e.doc) {
		seen := s.seen[p.index()]
		if seen == nil {
			seen = &calls{}
			s.seen[p.index()] = seen
		}
		here := seen.note(p)
		if p.finish() == "" || len(*seen) != 1 {
			continue
		}
		call := (*seen)[0]
		list := s.more(object{
			"index": toNumber(call.index), "id": call.id, "type": "function",
			"function": object{"name": call.name, "arguments": call.arguments},
		})
		if here { // the first ends in this very event
			p.box["tool_calls"] = append(p.box["tool_calls"].([]any), list...)
			e.changed()
			continue
		}
		more := e.like(slot{p.index(), arguments, 0, "arguments"}, "")
		parts(more.doc)[0].box["tool_calls"] = list
		out.send(more)
	}
	out.send(e)
}

func (s *storm) body(doc object) (changed bool) {
	for _, p := range parts(doc) {
		if list := p.calls(); len(list) == 1 {
			p.box["tool_calls"] = append([]any{list[0]}, s.more(list[0])...)
			changed = true
		}
	}
	return changed
}

var _ = register(fault{
	Info: Info{
		ID: "tools-buffered", Stage: 2, Modes: []string{"TOOL-14"},
		Doc: "where the request has tools, all visible text of a stream comes in one event at the end",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return x.fields["tools"] != nil },
		answer: func(*exchange) filter {
			var held *event
			gather := func(e *event) {
				if held != nil {
					merge(held, e)
				}
				held = e
			}
			release := func(out outlet) {
				if held != nil {
					out.send(held)
					held = nil
				}
			}
			return filter{
				event: func(e *event, out outlet) {
					if onlySpeaks(e) {
						gather(e)
						return
					}
					for _, p := range parts(e.doc) {
						if p.finish() != "" && p.visible() != "" && len(parts(e.doc)) == 1 {
							gather(e.ahead(p))
						}
					}
					release(out)
					out.send(e)
				},
				end: release,
			}
		},
	}),
})

// ahead takes the visible text of a choice out of an event, with the lists beside it,
// into one of its own.
func (e *event) ahead(p part) *event {
	head := e.like(slot{p.index(), visible, 0, p.key}, p.visible())
	for _, name := range []string{"logprobs", "token_ids"} {
		if v, ok := p.choice[name]; ok {
			parts(head.doc)[0].choice[name], p.choice[name] = v, nil
		}
	}
	p.setVisible("")
	e.changed()
	return head
}
