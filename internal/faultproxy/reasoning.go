package faultproxy

var _ = register(fault{
	Info: Info{
		ID: "think-in-content", Stage: 2, Modes: []string{"RSN-01"},
		Doc: "the content begins with the thinking and a lone </think>",
	},
	build: always(acts{answer: func(*exchange) filter {
		t := &thinkAloud{}
		return filter{event: t.event, body: t.body}
	}}),
})

// stockThought is what an answer without reasoning is given to think.
const stockThought = "Okay, the user wants a short answer. Let me look at the question again and then reply."

const thinkEnd = "\n</think>\n\n"

type thinkAloud struct{ thought, closed bool }

func (t *thinkAloud) event(e *event, out outlet) {
	for _, p := range parts(e.doc) {
		if p.key == "text" {
			continue // text completions have no channels
		}
		if name, text := p.thoughts(); text != "" && !t.closed {
			delete(p.box, name)
			p.setVisible(text + p.visible())
			t.thought = true
			e.changed()
			continue
		}
		if !t.closed && (p.visible() != "" || len(p.calls()) > 0 || p.finish() != "") {
			t.closed = true
			out.send(e.like(slot{p.index(), visible, 0, p.key}, t.preface()))
		}
	}
	out.send(e)
}

func (t *thinkAloud) preface() string {
	if t.thought {
		return thinkEnd
	}
	return stockThought + thinkEnd
}

func (t *thinkAloud) body(doc object) bool {
	for _, p := range parts(doc) {
		if p.key == "text" {
			return false
		}
		name, text := p.thoughts()
		if text == "" {
			text = stockThought
		} else {
			p.box[name] = nil
		}
		p.setVisible(text + thinkEnd + p.visible())
	}
	return true
}

var _ = register(fault{
	Info: Info{
		ID: "answer-in-reasoning", Stage: 2, Modes: []string{"RSN-02", "RSN-03"},
		Doc: "the whole answer is in the reasoning field and the content is empty",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{
			event: func(e *event, out outlet) {
				if hush(e.doc) {
					e.changed()
				}
				out.send(e)
			},
			body: hush,
		}
	}}),
})

// hush moves the visible text to the reasoning field that is in use there.
func hush(doc object) (changed bool) {
	for _, p := range parts(doc) {
		text := p.visible()
		if text == "" || p.key == "text" {
			continue
		}
		name, thoughts := p.thoughts()
		if name == "" {
			name = "reasoning_content"
		}
		p.box[name] = thoughts + text
		p.setVisible("")
		changed = true
	}
	return changed
}

var _ = register(fault{
	Info: Info{
		ID: "reasoning-split", Stage: 2, Modes: []string{"RSN-08"},
		Doc: "an answer without stream has its reasoning in the content, between <think> and </think>; streams are right",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{body: eachPart(func(p part) bool {
			_, text := p.thoughts()
			if text == "" {
				return false
			}
			for _, name := range thoughtNames {
				delete(p.box, name)
			}
			p.setVisible("<think>\n" + text + thinkEnd + p.visible())
			return true
		})}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "reasoning-renamed", Stage: 0, Modes: []string{"RSN-07"},
		Doc: "the reasoning field has the other of its two names",
	},
	build: always(acts{answer: changeParts(func(p part) bool {
		first, has := p.box[thoughtNames[0]]
		second, had := p.box[thoughtNames[1]]
		delete(p.box, thoughtNames[0])
		delete(p.box, thoughtNames[1])
		if has {
			p.box[thoughtNames[1]] = first
		}
		if had {
			p.box[thoughtNames[0]] = second
		}
		return has || had
	})}),
})
