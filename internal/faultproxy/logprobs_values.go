package faultproxy

import (
	"bytes"
	"encoding/json"
)

// Log probabilities that are no measurements.

// rescore puts another value in the place of each chosen token's log probability, in
// both forms of the API; nil leaves it.
func rescore(p part, instead func() any) (changed bool) {
	for _, entry := range scores(p) {
		if v := instead(); v != nil {
			entry["logprob"] = v
			changed = true
		}
	}
	legacy, _ := p.choice["logprobs"].(object)
	list, _ := legacy["token_logprobs"].([]any)
	for i, was := range list {
		if was == nil {
			continue // the first of an echoed prompt has none
		}
		if v := instead(); v != nil {
			list[i] = v
			changed = true
		}
	}
	return changed
}

var _ = register(fault{
	Info: Info{
		ID: "logprobs-zero", Stage: 2, Modes: []string{"LGP-01"},
		Doc: "the log probability of every token is 0.0",
	},
	build: always(acts{answer: changeParts(func(p part) bool {
		const zero = json.Number("0.0")
		for _, entry := range scores(p) {
			for _, t := range alternatives(entry) {
				if t["token"] == entry["token"] {
					t["logprob"] = zero
				}
			}
		}
		legacy, _ := p.choice["logprobs"].(object)
		tokens, _ := legacy["tokens"].([]any)
		tops, _ := legacy["top_logprobs"].([]any)
		for i := range min(len(tokens), len(tops)) {
			if top, ok := tops[i].(object); ok && top[toText(tokens[i])] != nil {
				top[toText(tokens[i])] = zero
			}
		}
		return rescore(p, func() any { return zero })
	})}),
})

var _ = register(fault{
	Info: Info{
		ID: "logprobs-sentinel", Stage: 2, Modes: []string{"LGP-02"},
		Doc: "the log probability of every third token is -9999.0",
	},
	build: always(acts{answer: func(x *exchange) filter {
		n := map[int]int{} // tokens by choice; events of one stream go on from each other
		return changeParts(func(p part) bool {
			return rescore(p, func() any {
				if n[p.index()]++; n[p.index()]%3 == 0 {
					return json.Number("-9999.0")
				}
				return nil
			})
		})(x)
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "logprobs-nan", Stage: 2, Modes: []string{"LGP-02"},
		Doc: "the first log probability is a bare NaN, which is no JSON",
	},
	build: always(acts{answer: func(*exchange) filter {
		// No encoder writes it, so it comes in afterwards.
		const place = "@logprobs-nan@"
		bare := func(b []byte) []byte { return bytes.ReplaceAll(b, encode(place), []byte("NaN")) }
		spoilt := false
		spoil := eachPart(func(p part) bool {
			return rescore(p, func() any {
				if spoilt {
					return nil
				}
				spoilt = true
				return place
			})
		})
		return filter{
			event: func(e *event, out outlet) {
				if spoil(e.doc) {
					e.changed()
					e.freeze(bare(e.bytes()))
				}
				out.send(e)
			},
			body: spoil,
			text: bare,
		}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "scores-off", Stage: 3, Modes: []string{"LGP-05"},
		Doc:    "with another request in flight the log probability of every token is too low",
		Params: []Param{inCompany, number("hundredths", "30", "by how many hundredths of a nat")},
	},
	build: func(o options) acts {
		// Of the alternatives too: else the chosen token would not be the first of them.
		lower := func(v any) any {
			f, ok := toFloat(v)
			if !ok {
				return v
			}
			return toReal(f - float64(o.number("hundredths"))/100)
		}
		return acts{answer: changeParts(func(p part) (changed bool) {
			eachScore(p, func(entry object) {
				entry["logprob"] = lower(entry["logprob"])
				changed = true
			})
			legacy, _ := p.choice["logprobs"].(object)
			list, _ := legacy["token_logprobs"].([]any)
			for i, v := range list {
				list[i] = lower(v)
				changed = true
			}
			tops, _ := legacy["top_logprobs"].([]any)
			for _, t := range tops {
				top, _ := t.(object)
				for name, v := range top {
					top[name] = lower(v)
				}
			}
			return changed
		})}
	},
})
