package faultproxy

import (
	"encoding/json"
	"math"
	"strconv"
)

var _ = register(fault{
	Info: Info{
		ID: "logprobs-positive", Stage: 3, Modes: []string{"LGP-03"},
		Doc: "log probabilities are positive",
	},
	build: always(acts{answer: changeParts(func(p part) (changed bool) {
		eachScore(p, func(entry object) {
			entry["logprob"] = positive(entry["logprob"])
			changed = true
		})
		legacy, _ := p.choice["logprobs"].(object)
		list, _ := legacy["token_logprobs"].([]any)
		for i, v := range list {
			list[i] = positive(v)
			changed = true
		}
		return changed
	})}),
})

// positive keeps what is no number. The half is for tokens that were certain.
func positive(v any) any {
	f, ok := toFloat(v)
	if !ok {
		return v
	}
	return json.Number(strconv.FormatFloat(math.Abs(f)+0.5, 'g', -1, 64))
}

// eachScore visits the entry of every token and of its alternatives.
func eachScore(p part, visit func(entry object)) {
	for _, entry := range scores(p) {
		visit(entry)
		for _, t := range alternatives(entry) {
			visit(t)
		}
	}
}

// scores are the entries of the chosen tokens.
func scores(p part) []object {
	logprobs, _ := p.choice["logprobs"].(object)
	return objects(logprobs["content"])
}

// alternatives are the entries beside that of a chosen token, its own among them.
func alternatives(entry object) []object { return objects(entry["top_logprobs"]) }

var _ = register(fault{
	Info: Info{
		ID: "logprobs-shifted", Stage: 3, Modes: []string{"LGP-04"},
		Doc: "each log probability stands beside the token before",
	},
	build: always(acts{answer: func(x *exchange) filter {
		// The first has none before it; events of one stream go on from each other.
		token, bytes, text := any(""), any([]any{}), any("")
		return changeParts(func(p part) (changed bool) {
			for _, entry := range scores(p) {
				entry["token"], token = token, entry["token"]
				if _, ok := entry["bytes"]; ok {
					entry["bytes"], bytes = bytes, entry["bytes"]
				}
				changed = true
			}
			legacy, _ := p.choice["logprobs"].(object)
			list, _ := legacy["tokens"].([]any)
			for i := range list {
				list[i], text = text, list[i]
				changed = true
			}
			return changed
		})(x)
	}}),
})
