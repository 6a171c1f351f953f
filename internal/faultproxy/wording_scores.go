package faultproxy

import "strings"

// The log probabilities of two tokens that were nearly as good as each other: 0.04 nat
// apart, with little left for all others; and of one that had no rival.
const (
	tieFirst  = -0.755
	tieSecond = -0.799
	certain   = -0.05
)

// rank makes a token the chosen one of an entry. The rival comes second, "" standing for
// none; gone is no longer among the others, which keep their order and become small.
func rank(entry object, chosen string, first float64, rival string, second float64, gone string) {
	space := ""
	if strings.HasPrefix(toText(entry["token"]), " ") {
		space = " "
	}
	list, _ := entry["top_logprobs"].([]any)
	top := []any{scored(entry, space+chosen, first)}
	if rival != "" {
		top = append(top, scored(entry, space+rival, second))
	}
	for _, t := range alternatives(entry) {
		switch token := toText(t["token"]); token {
		case space + chosen, space + rival, space + gone:
		default:
			f, ok := toFloat(t["logprob"])
			most := -3.5 - 0.7*float64(len(top))
			if !ok || f > most {
				f = most
			}
			top = append(top, scored(entry, token, f))
		}
	}
	entry["token"], entry["logprob"] = space+chosen, toReal(first)
	if _, ok := entry["bytes"]; ok {
		entry["bytes"] = bytesOf(space + chosen)
	}
	if list != nil {
		entry["top_logprobs"] = top[:min(len(top), len(list))]
	}
}

// scored is an entry among the alternatives, in the form of another.
func scored(like object, token string, logprob float64) object {
	o := object{"token": token, "logprob": toReal(logprob)}
	if _, ok := like["bytes"]; ok {
		o["bytes"] = bytesOf(token)
	}
	return o
}

func bytesOf(token string) []any {
	list := make([]any, len(token))
	for i := range len(token) {
		list[i] = toNumber(int(token[i]))
	}
	return list
}
