package faultproxy

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// Servings that differ from another of the same weights, and show nothing by themselves.

var _ = register(fault{
	Info: Info{
		ID: "logprob-noise", Stage: 3, Modes: []string{"OUT-13", "NUM-05"},
		Doc:    "log probabilities carry the noise of coarser weights; the likeliest token stays the likeliest",
		Params: []Param{number("sd", "300", "standard deviation in thousandths of a nat")},
	},
	build: func(o options) acts {
		sd := float64(o.number("sd")) / 1000
		return acts{answer: func(x *exchange) filter {
			rng := x.chance("logprob-noise")
			return changeParts(func(p part) (changed bool) {
				for _, entry := range scores(p) {
					changed = blur(entry, func() float64 { return sd * rng.NormFloat64() }) || changed
				}
				return changed
			})(x)
		}}
	},
})

// blur adds noise to the log probabilities of a token and its alternatives, and scales
// them so that they stay probabilities.
func blur(entry object, noise func() float64) bool {
	own, ok := toFloat(entry["logprob"])
	if !ok {
		return false
	}
	list := []object{entry}
	values := []float64{own + noise()}
	sum, rest := math.Exp(values[0]), 1-math.Exp(own)
	var again []object // the chosen token stands among its alternatives too
	for _, t := range alternatives(entry) {
		lp, ok := toFloat(t["logprob"])
		switch {
		case !ok:
		case t["token"] == entry["token"]:
			again = append(again, t)
		default:
			v := min(lp+noise(), values[0]-0.001)
			list, values = append(list, t), append(values, v)
			sum, rest = sum+math.Exp(v), rest-math.Exp(lp)
		}
	}
	scale := math.Log(sum + max(rest, 0))
	for i, o := range list {
		o["logprob"] = json.Number(strconv.FormatFloat(min(values[i]-scale, 0), 'g', -1, 64))
	}
	for _, o := range again {
		o["logprob"] = entry["logprob"]
	}
	return true
}

var _ = register(fault{
	Info: Info{
		ID: "second-choice", Stage: 3, Modes: []string{"IDN-05", "OUT-13"},
		Doc:    "where log probabilities are asked for, one token of each answer is the one that was second",
		Params: []Param{number("at", "4", "which token of the answer")},
	},
	build: func(o options) acts {
		at := o.number("at")
		return acts{answer: func(x *exchange) filter {
			seen := map[int]int{} // tokens by choice; events of one stream go on from each other
			return changeParts(func(p part) (changed bool) {
				before := 0
				for _, entry := range scores(p) {
					token := toText(entry["token"])
					if seen[p.index()]++; seen[p.index()] == at {
						changed = preferSecond(p, entry, before)
						token = toText(entry["token"])
					}
					before += len(token)
				}
				return changed
			})(x)
		}}
	},
})

// preferSecond exchanges a token with the likeliest beside it, in the text and in the
// scores, so that the chosen one is still the likeliest.
func preferSecond(p part, entry object, before int) bool {
	was := toText(entry["token"])
	var first, second object
	for _, t := range alternatives(entry) {
		if t["token"] == was {
			first = t
		} else if second == nil {
			second = t
		}
	}
	text := p.visible()
	if first == nil || second == nil || before > len(text) || !strings.HasPrefix(text[before:], was) {
		return false
	}
	p.setVisible(text[:before] + toText(second["token"]) + text[before+len(was):])
	for _, name := range []string{"token", "bytes", "id"} {
		first[name], second[name] = second[name], first[name]
		entry[name] = first[name]
	}
	return true
}

var _ = register(fault{
	Info: Info{
		ID: "calls-less", Stage: 3, Modes: []string{"TOOL-11"},
		Doc:    "of the answers with tool calls, some have their calls as text",
		Params: []Param{number("of", "2", "every so many-th answer with calls")},
	},
	build: func(o options) acts {
		of := int64(max(1, o.number("of")))
		var n atomic.Int64
		return acts{answer: func(*exchange) filter {
			u := &unparsed{to: visible, thoughts: "reasoning_content"}
			struck, asked := false, false
			strikes := func(doc object) bool { // decided once an answer, at its first call
				for _, p := range parts(doc) {
					if len(p.calls()) > 0 && !asked {
						asked, struck = true, n.Add(1)%of == 0
					}
				}
				return struck
			}
			return filter{
				event: func(e *event, out outlet) {
					if e.doc != nil && strikes(e.doc) {
						u.event(e, out)
						return
					}
					out.send(e)
				},
				body: func(doc object) bool { return strikes(doc) && u.body(doc) },
			}
		}}
	},
})
