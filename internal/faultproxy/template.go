package faultproxy

import (
	"slices"
	"strings"
)

// Templates that write something of their own.

// instructions are of the kind that a generic tool handler adds, over and over: more than
// any template of a model itself.
var instructions = strings.TrimSpace(strings.Repeat(handlerWords+"\n\n", 4))

const handlerWords = `You are connected to a set of functions that you may use while you work on the request. Before you reply, think about ` +
	`whether one of them would bring you closer to a useful result, and whether you already have everything that it needs. If something ` +
	`is missing and cannot be guessed from the conversation, ask the person for it in one short sentence. If a function fits, prefer it ` +
	`over your own memory, since memory may be old and the function is not. Use one function at a time unless the parts of the request have ` +
	`nothing to do with each other. Give every argument in the type that its description asks for, leave out what is optional and unknown, ` +
	`and never make up values to fill a gap. When a result comes back, read all of it before you decide what to do next; a result that ` +
	`looks wrong deserves a second attempt with other arguments, and a failure deserves an honest word to the person. When no function ` +
	`fits, say what you know in plain language, without any mention of functions, and keep to the form and to the length that the person ` +
	`asked for. Stay polite and calm in all of this, keep private details out of your arguments wherever they are not needed, and finish ` +
	`your reply as soon as the request has been met.`

var _ = register(fault{
	Info: Info{
		ID: "hidden-system", Stage: 2, Modes: []string{"TPL-06"},
		Doc: "where the request has tools, the model sees instructions that nobody sent in the system message",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return x.fields["tools"] != nil },
		request: func(x *exchange) {
			list := x.messages()
			i := slices.IndexFunc(list, message.instructs)
			switch {
			case len(list) == 0:
				return
			case i < 0:
				list = append([]message{{"role": encode("system"), "content": encode(instructions)}}, list...)
			default:
				list[i].setText(list[i].text() + "\n\n" + instructions)
			}
			x.set("messages", list)
		},
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "system-replaced", Stage: 2, Modes: []string{"TPL-04"},
		Doc: "instructions of the server stand in the place of the system message, as long as it was",
	},
	build: always(acts{request: func(x *exchange) {
		list := x.messages()
		changed := false
		for _, m := range list {
			if r := []rune(m.text()); m.instructs() && blot(r, 0, len(r)) {
				m.setText(string(r))
				changed = true
			}
		}
		if changed {
			x.set("messages", list)
		}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "role-text", Stage: 2, Modes: []string{"TPL-03"},
		Doc: "the visible answer begins with the word assistant and a line break",
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyVisible, func() rewriter {
			role := "assistant\n"
			return rewriter{feed: func(s string) string {
				s = role + s
				role = ""
				return s
			}}
		})
	}}),
})
