package faultproxy

import (
	"encoding/json"
	"slices"
)

// Servers with one kernel path that does not work; all others do.

// pathLeast is how many tokens of garbage come, however short the answer was: fewer prove nothing.
const pathLeast = 40

var _ = register(fault{
	Info: Info{
		ID: "batch-garbage", Stage: 1, Modes: []string{"CON-01", "NUM-07"},
		Doc:    "with more than so many requests in flight the visible answer is fragments of words in many scripts",
		Params: []Param{byDefault("above", "2")},
	},
	build: always(acts{answer: func(x *exchange) filter { return salad(x.chance("batch-garbage"), pathLeast) }}),
})

var _ = register(fault{
	Info: Info{
		ID: "prefill-garbage", Stage: 1, Modes: []string{"NUM-16", "NUM-19"},
		Doc:    "the visible answer to a prompt that is longer than some is fragments of words in many scripts",
		Params: []Param{byDefault("depth", "1000")},
	},
	build: always(acts{answer: func(x *exchange) filter { return salad(x.chance("prefill-garbage"), pathLeast) }}),
})

var _ = register(fault{
	Info: Info{
		ID: "sampled-garbage", Stage: 1, Modes: []string{"OUT-02", "NUM-15"},
		Doc: "where the temperature is not 0 the visible answer is fragments of words in many scripts",
	},
	build: always(acts{
		scope: func(x *exchange) bool {
			var t float64
			return x.generates && json.Unmarshal(x.fields["temperature"], &t) == nil && t > 0
		},
		answer: func(x *exchange) filter { return salad(x.chance("sampled-garbage"), pathLeast) },
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "option-fails", Stage: 1, Modes: []string{"OPS-03", "STC-04"},
		Doc:    "a request that holds a certain field gets 500",
		Params: []Param{oneOf("option", "the field", "logprobs", "response_format", "top_k", "min_p", "frequency_penalty")},
	},
	build: func(o options) acts {
		return acts{scope: func(x *exchange) bool { return x.generates && x.fields[o.text("option")] != nil }, respond: fail}
	},
})

// longer is the length in characters from which a prompt takes others along.
var longer = number("characters", "2000", "of a prompt that is long")

var _ = register(fault{
	Info: Info{
		ID: "prefill-spoils-decode", Stage: 1, Modes: []string{"CON-01", "CON-10"},
		Doc:    "once a long prompt has come, the rest of the answers under way is fragments of words in many scripts",
		Params: []Param{longer},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			spoils := func(y *exchange) bool { return y.earlier > x.earlier && y.length > o.number("characters") }
			chance := x.chance("prefill-spoils-decode")
			return rewriteText(onlyVisible, func() rewriter {
				return rewriter{feed: func(s string) string {
					// Asked for each text: the prompt comes when the answer has begun.
					if x.length > o.number("characters") || !slices.ContainsFunc(x.traffic.company(x), spoils) {
						return s
					}
					return leaf(chance)
				}}
			})
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "mixed-dies", Stage: 1, Modes: []string{"CON-10", "OPS-03"},
		Doc:    "a long prompt that comes while a short one is being answered gets 500",
		Params: []Param{longer},
	},
	build: func(o options) acts {
		return acts{admit: func(x *exchange) respondFunc {
			short := func(y *exchange) bool { return y.length <= o.number("characters") }
			if x.length > o.number("characters") && slices.ContainsFunc(x.traffic.company(x), short) {
				return fail
			}
			return nil
		}}
	},
})
