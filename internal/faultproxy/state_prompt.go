package faultproxy

import (
	"encoding/json"
	"slices"
)

// Requests that lose a part of the prompt on the way to the model.

var _ = register(fault{
	Info: Info{
		ID: "needle-loss", Stage: 3, Modes: []string{"CTX-01", "OUT-12"},
		Doc:    "the head of a long prompt is dropped without a word",
		Params: []Param{number("depth", "4000", "characters that are kept; prompts without more are left alone")},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) { x.keepTail(o.number("depth")) }}
	},
})

// keepTail drops all text before the last n characters of the prompt. Messages that
// lose all of it go, but for the last one and those that a tool call ties together.
func (x *exchange) keepTail(n int) {
	var prompt string
	if json.Unmarshal(x.fields["prompt"], &prompt) == nil {
		r := []rune(prompt)
		x.set("prompt", string(r[max(0, len(r)-n):]))
		return
	}
	list := x.messages()
	if len(list) == 0 {
		return
	}
	var kept []message
	for i, m := range slices.Backward(list) {
		r := []rune(m.text())
		cut := max(0, len(r)-n)
		if cut > 0 {
			m.setText(string(r[cut:]))
		}
		n -= len(r) - cut
		tied := m.role() == "tool" || m["tool_calls"] != nil
		if gone := len(r) > 0 && cut == len(r); !gone || tied || i == len(list)-1 {
			kept = append(kept, m)
		}
	}
	slices.Reverse(kept)
	x.set("messages", kept)
}

var _ = register(fault{
	Info: Info{
		ID: "forget-early", Stage: 3, Modes: []string{"AGT-03", "CTX-01"},
		Doc:    "the first messages of a long conversation are dropped without a word",
		Params: []Param{number("turns", "8", "messages that are kept, not counting the system's")},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) { x.keepLast(o.number("turns")) }}
	},
})

// keepLast drops the messages before the last n, and then what would be the result
// of a call that is gone: templates refuse that.
func (x *exchange) keepLast(n int) {
	var system, talk []message
	for _, m := range x.messages() {
		if m.instructs() {
			system = append(system, m)
		} else {
			talk = append(talk, m)
		}
	}
	if len(talk) <= max(n, 1) {
		return
	}
	talk = talk[len(talk)-max(n, 1):]
	for len(talk) > 1 && talk[0].role() == "tool" {
		talk = talk[1:]
	}
	x.set("messages", append(system, talk...))
}

var _ = register(fault{
	Info: Info{
		ID: "drop-system", Stage: 2, Modes: []string{"TPL-04"},
		Doc: "the model never sees the system message",
	},
	build: always(acts{request: func(x *exchange) {
		list := x.messages()
		kept := slices.DeleteFunc(slices.Clone(list), message.instructs)
		if len(kept) > 0 && len(kept) < len(list) {
			x.set("messages", kept)
		}
	}}),
})
