package faultproxy

import (
	"encoding/json"
	"strings"
)

// Tool calls that went through the wrong parser.

var _ = register(fault{
	Info: Info{
		ID: "tool-as-text", Stage: 2, Modes: []string{"TOOL-01", "TOOL-02"},
		Doc: "tool calls stand as text in the content and the finish reason is stop",
	},
	build: callsAsText(visible),
})

var _ = register(fault{
	Info: Info{
		ID: "call-in-reasoning", Stage: 2, Modes: []string{"TOOL-17"},
		Doc: "tool calls stand as text in the reasoning field and the finish reason is stop",
	},
	build: callsAsText(thought),
})

func callsAsText(to channel) func(options) acts {
	return always(acts{answer: func(*exchange) filter {
		u := &unparsed{to: to, thoughts: "reasoning_content"}
		return filter{event: u.event, body: u.body}
	}})
}

// unparsed gathers calls until they can be written out.
type unparsed struct {
	to       channel
	thoughts string // the name that the reasoning field has there
	calls    calls
}

// field is where the text goes.
func (u *unparsed) field(p part) string {
	if u.to == thought {
		return u.thoughts
	}
	return p.key
}

func (u *unparsed) take(p part) (took bool) {
	if _, ok := p.box["reasoning"]; ok {
		u.thoughts = "reasoning"
	}
	took = u.calls.note(p)
	p.dropCalls()
	return took
}

func (u *unparsed) text() string {
	var b strings.Builder
	for i, c := range u.calls {
		if i > 0 {
			b.WriteByte('\n')
		}
		args := c.arguments
		if !json.Valid([]byte(args)) {
			args = string(encode(args))
		}
		b.WriteString("<tool_call>\n{\"name\": " + string(encode(c.name)) + ", \"arguments\": " + args + "}\n</tool_call>")
	}
	u.calls = nil
	return b.String()
}

func (u *unparsed) event(e *event, out outlet) {
	for _, p := range parts(e.doc) {
		reason := p.finish()
		finishes := reason != ""
		took := u.take(p)
		if took || p.finish() != reason {
			e.changed()
		}
		if finishes && len(u.calls) > 0 {
			out.send(e.like(slot{p.index(), u.to, 0, u.field(p)}, u.text()))
		}
		if took && !finishes && p.visible() == "" && p.box["role"] == nil {
			return
		}
	}
	out.send(e)
}

func (u *unparsed) body(doc object) bool {
	changed := false
	for _, p := range parts(doc) {
		if u.take(p) {
			name := u.field(p)
			p.box[name] = toText(p.box[name]) + u.text()
			changed = true
		}
	}
	return changed
}

var _ = register(fault{
	Info: Info{
		ID: "tool-args-cut", Stage: 2, Modes: []string{"TOOL-04"},
		Doc: "streamed tool arguments lack their last piece",
	},
	build: always(acts{answer: func(*exchange) filter {
		return streamed(rewriteText(onlyArguments, func() rewriter {
			held, pieces := "", 0
			return rewriter{
				feed: func(s string) string {
					out := held
					held = s
					pieces++
					return out
				},
				rest: func() string {
					if pieces > 1 {
						return ""
					}
					return held[:len(held)/2] // all came in one piece: lose half of it
				},
			}
		}))
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "tool-finish-stop", Stage: 2, Modes: []string{"TOOL-03"},
		Doc: "an answer with tool calls has the finish reason stop",
	},
	build: always(acts{answer: changeParts(func(p part) bool { return swapFinish(p, "tool_calls", "stop") })}),
})

func swapFinish(p part, from, to string) bool {
	if p.finish() != from {
		return false
	}
	p.setFinish(to)
	return true
}

var _ = register(fault{
	Info: Info{
		ID: "tool-no-id", Stage: 2, Modes: []string{"TOOL-07"},
		Doc: "tool calls have no id",
	},
	build: always(acts{answer: changeParts(func(p part) (changed bool) {
		for _, c := range p.calls() {
			if _, ok := c["id"]; ok {
				delete(c, "id")
				changed = true
			}
		}
		return changed
	})}),
})

var _ = register(fault{
	Info: Info{
		ID: "tool-wrong-index", Stage: 2, Modes: []string{"TOOL-06"},
		Doc:    "the index of streamed tool calls does not count them",
		Params: []Param{oneOf("mode", "jump: 1, 3, 5 …; zero: 0 for all", "jump", "zero")},
	},
	build: func(o options) acts {
		return acts{answer: changeParts(func(p part) (changed bool) {
			for _, c := range p.calls() {
				if _, ok := c["index"]; !ok {
					continue
				}
				i := 2*toInt(c["index"]) + 1
				if o.text("mode") == "zero" {
					i = 0
				}
				c["index"] = toNumber(i)
				changed = true
			}
			return changed
		})}
	},
})

// changeParts is for faults that look at one choice at a time and remember nothing.
func changeParts(change func(p part) bool) func(*exchange) filter {
	return changeDocs(eachPart(change))
}

func eachPart(change func(p part) bool) func(doc object) bool {
	return func(doc object) (changed bool) {
		for _, p := range parts(doc) {
			changed = change(p) || changed
		}
		return changed
	}
}

// changeDocs is for faults to which a chunk and a body are the same.
func changeDocs(change func(doc object) bool) func(*exchange) filter {
	return func(*exchange) filter {
		return filter{
			event: func(e *event, out outlet) {
				if e.doc != nil && change(e.doc) {
					e.changed()
				}
				out.send(e)
			},
			body: change,
		}
	}
}

var _ = register(fault{
	Info: Info{
		ID: "tools-dropped", Stage: 2, Modes: []string{"TOOL-12", "TPL-05"},
		Doc: "the model never sees the tools of the request",
	},
	build: always(acts{request: func(x *exchange) {
		x.set("tools", nil)
		x.set("tool_choice", nil)
		x.set("parallel_tool_calls", nil)
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "tool-null-arguments", Stage: 2, Modes: []string{"TOOL-05"},
		Doc: "the empty object of a tool without parameters is dropped",
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyArguments, func() rewriter {
			held := ""
			return rewriter{
				feed: func(s string) string {
					if held += s; strings.HasPrefix("{}", strings.ReplaceAll(held, " ", "")) {
						return ""
					}
					out := held
					held = ""
					return out
				},
			}
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "tool-same-id", Stage: 2, Modes: []string{"TOOL-07"},
		Doc: "all tool calls have one id",
	},
	build: always(acts{answer: changeParts(func(p part) (changed bool) {
		for _, c := range p.calls() {
			if _, ok := c["id"]; ok {
				c["id"] = "call_0"
				changed = true
			}
		}
		return changed
	})}),
})
