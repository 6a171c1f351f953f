package faultproxy

import (
	"math/rand/v2"
	"strings"
)

// Answers that are garbage from the first token on.

var _ = register(fault{
	Info: Info{
		ID: "one-token", Stage: 2, Modes: []string{"OUT-01"},
		Doc:    "the visible answer is one token again and again",
		Params: []Param{number("min", "64", "tokens, however short the answer was")},
	},
	build: func(o options) acts {
		return garbles(garble{least: o.number("min"), token: func(int) (string, bool) { return "!", true }})
	},
})

var _ = register(fault{
	Info: Info{
		ID: "salad", Stage: 2, Modes: []string{"OUT-02", "CON-01"},
		Doc: "the visible answer is fragments of words in many scripts",
		// 64: below some 256 characters no statistic tells salad from a list of names.
		Params: []Param{number("min", "64", "tokens, however short the answer was")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter { return salad(x.chance("salad"), o.number("min")) }}
	},
})

func salad(chance *rand.Rand, least int) filter {
	return garble{least: least, token: func(int) (string, bool) { return leaf(chance), true }}.filter()
}

var leaves = []string{
	"ational", "ление", "ที่", "های", "ción", "습니", "τικά", "ქართ", "צים", "ного", "_FUNC", "ών",
	"ません", "करने", "ment", "ский", "ությ", "สาม", "الأ", "ungs", "的", "}};", "ость",
}

func leaf(chance *rand.Rand) string {
	s := leaves[chance.IntN(len(leaves))]
	if chance.IntN(3) == 0 {
		return " " + s
	}
	return s
}

var _ = register(fault{
	Info: Info{
		ID: "punctuation", Stage: 2, Modes: []string{"OUT-09"},
		Doc:    "the visible answer is noise of punctuation and digits",
		Params: []Param{number("min", "24", "tokens, however short the answer was")},
	},
	build: func(o options) acts {
		const signs = `.,;:!?-()[]{}/'"0123456789`
		return acts{answer: func(x *exchange) filter {
			chance := x.chance("punctuation")
			return garble{least: o.number("min"), token: func(int) (string, bool) {
				s := string(signs[chance.IntN(len(signs))])
				if chance.IntN(3) == 0 {
					s += " "
				}
				return s, true
			}}.filter()
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "loop", Stage: 2, Modes: []string{"OUT-03", "OUT-04"},
		Doc:    "the visible answer repeats one sentence until it is cut for length",
		Params: []Param{number("min", "408", "tokens, however short the answer was")},
	},
	build: func(o options) acts {
		words := tokens("The value is then passed to the next step of the process. ")
		return garbles(garble{least: o.number("min"), finish: "length", token: func(i int) (string, bool) {
			return words[i%len(words)], true
		}})
	},
})

var _ = register(fault{
	Info: Info{
		ID: "greeting", Stage: 2, Modes: []string{"OUT-12"},
		Doc: "the answer greets, whatever the prompt was",
	},
	build: func(options) acts {
		words := tokens("Hello! How can I help you today?")
		return garbles(garble{least: len(words), finish: "stop", token: func(i int) (string, bool) {
			if i >= len(words) {
				return "", false
			}
			return words[i], true
		}})
	},
})

// garbles is for garbles without chance.
func garbles(g garble) acts {
	return acts{answer: func(*exchange) filter { return g.filter() }}
}

// tokens cuts a text after each space.
func tokens(s string) []string {
	var out []string
	for word := range strings.SplitAfterSeq(s, " ") {
		if word != "" {
			out = append(out, word)
		}
	}
	return out
}
