package faultproxy

import (
	"encoding/json"
	"strings"
)

// Answers that end where they should not.

// stops returns the stop strings of the request.
func (x *exchange) stops() []string {
	var one string
	if json.Unmarshal(x.fields["stop"], &one) == nil && one != "" {
		return []string{one}
	}
	var list []string
	_ = json.Unmarshal(x.fields["stop"], &list)
	return list
}

var _ = register(fault{
	Info: Info{
		ID: "stop-leaks", Stage: 2, Modes: []string{"STP-05"},
		Doc: "the first half of the stop string stands at the end of the answer",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return len(x.stops()) > 0 },
		answer: func(x *exchange) filter {
			stop := []rune(x.stops()[0])
			return rewriteText(onlyVisible, func() rewriter {
				return rewriter{
					feed: asIs,
					rest: func() string { return string(stop[:(len(stop)+1)/2]) },
				}
			})
		},
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "never-stops", Stage: 2, Modes: []string{"STP-01"},
		Doc: "after the answer come turns that nobody wrote, up to the limit",
	},
	build: always(acts{scope: func(x *exchange) bool { return x.fields["logprobs"] == nil }, answer: func(*exchange) filter {
		f := rewriteText(onlyVisible, func() rewriter {
			return rewriter{
				feed: asIs,
				rest: func() string { return strings.Repeat("\nUser: And what else?\nAssistant: Nothing more than that.", 8) },
			}
		})
		return changedFirst(f, eachPart(func(p part) bool { return swapFinish(p, "stop", "length") }))
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "json-blanks", Stage: 2, Modes: []string{"STC-01"},
		Doc: "an answer that must be JSON is a brace, a key and line breaks up to the limit",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return x.fields["response_format"] != nil },
		answer: func(*exchange) filter {
			return garble{least: 200, finish: "length", token: func(i int) (string, bool) {
				if i == 0 {
					return `{"code":`, true
				}
				return "\n", true
			}}.filter()
		},
	}),
})
