package faultproxy

import (
	"encoding/json"
	"slices"
	"strings"
)

// Requests of an unusual kind that are answered with nothing.

// silence says nothing on any channel and ends for this reason.
func silence(reason string) filter {
	return changedFirst(filter{event: dropWords, body: blank}, eachPart(func(p part) bool { return endAs(p, reason) }))
}

var _ = register(fault{
	Info: Info{
		ID: "tiny-temperature-empty", Stage: 2, Modes: []string{"NUM-15"},
		Doc: "a temperature above 0 and below 0.05 gives an empty answer with the finish reason stop",
	},
	build: always(acts{
		scope: func(x *exchange) bool {
			var t float64
			return json.Unmarshal(x.fields["temperature"], &t) == nil && t > 0 && t < 0.05
		},
		answer: func(*exchange) filter { return silence("stop") },
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "schema-ref-empty", Stage: 2, Modes: []string{"STC-05"},
		Doc: "a response_format with $ref or $defs gives an empty answer with the finish reason stop",
	},
	build: always(acts{
		scope: func(x *exchange) bool {
			schema := string(x.fields["response_format"])
			return strings.Contains(schema, `"$ref"`) || strings.Contains(schema, `"$defs"`)
		},
		answer: func(*exchange) filter { return silence("stop") },
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "window-empty", Stage: 2, Modes: []string{"CTX-11"},
		Doc:    "a large token limit gives an empty answer with the finish reason length",
		Params: []Param{number("tokens", "8192", "the smallest limit that is too large")},
	},
	build: func(o options) acts {
		return acts{
			// Asked again when the answer comes: by then the request says something else.
			scope: func(x *exchange) bool {
				return slices.ContainsFunc(limits, func(name string) bool {
					var limit int
					return json.Unmarshal(x.asked(name), &limit) == nil && limit >= o.number("tokens")
				})
			},
			request: func(x *exchange) {
				for _, name := range limits {
					if x.fields[name] != nil {
						x.set(name, 1)
					}
				}
				x.drop("min_tokens")
			},
			answer: func(*exchange) filter {
				return changedFirst(silence("length"), usageOf(func(usage object) bool {
					usage["completion_tokens"], usage["total_tokens"] = toNumber(0), usage["prompt_tokens"]
					return true
				}))
			},
		}
	},
})
