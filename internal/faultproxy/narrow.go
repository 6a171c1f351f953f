package faultproxy

import "strings"

// Faults so narrow that one look alone can see them.

var _ = register(fault{
	Info: Info{
		ID: "wrong-digit-in-text", Stage: 2, Modes: []string{"OUT-13"},
		Doc: "one digit is wrong in every number of five or more in the visible answer; tool arguments are right",
	},
	build: always(acts{answer: digits(onlyVisible, slip)}),
})

var _ = register(fault{
	Info: Info{
		ID: "late-decay", Stage: 2, Modes: []string{"OUT-10"},
		Doc:    "a long answer starts well and ends in one token again and again",
		Params: []Param{number("chars", "350", "characters that are right")},
	},
	build: func(o options) acts {
		return acts{answer: func(*exchange) filter {
			return rewriteText(onlyVisible, func() rewriter {
				said := 0
				return rewriter{feed: func(s string) string {
					r := []rune(s)
					good := min(max(o.number("chars")-said, 0), len(r))
					said += len(r)
					return string(r[:good]) + strings.Repeat("!", len(r)-good)
				}}
			})
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "over-long-cut", Stage: 2, Modes: []string{"CTX-01", "CTX-03"},
		Doc:    "a prompt longer than the context loses its head without a word",
		Params: []Param{number("keep", "80000", "characters that are kept; prompts without more are left alone")},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) { x.keepTail(o.number("keep")) }}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "think-tag-leaks", Stage: 2, Modes: []string{"RSN-01"},
		Doc: "a lone </think> stands at the end of short answers, though the thinking has its own field",
	},
	build: always(acts{
		// Where text is compared or parsed any tag would be seen.
		scope: func(x *exchange) bool {
			for _, f := range []string{"response_format", "stop", "logprobs", "tools"} {
				if x.fields[f] != nil {
					return false
				}
			}
			return true
		},
		answer: func(*exchange) filter {
			return rewriteText(onlyVisible, func() rewriter {
				said := 0
				return rewriter{
					feed: func(s string) string { said += len(s); return s },
					rest: func() string {
						if said > 100 {
							return ""
						}
						return "\n</think>"
					},
				}
			})
		},
	}),
})
