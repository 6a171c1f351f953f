package faultproxy

import "unicode"

// Good answers with a word that is not the model's.

var _ = register(fault{
	Info: Info{
		ID: "first-token-wrong", Stage: 3, Modes: []string{"OUT-11"},
		Doc:    "the first word of the visible answer is another",
		Params: []Param{number("above", "1", "only for requests during which more than this many were in flight")},
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyVisible, func() rewriter {
			return rewriteWords(func(i int, first rune) string {
				switch {
				case i > 0:
					return ""
				case unicode.ToLower(first) == 'y': // no word stands for itself
					return "Meanwhile"
				}
				return "Yesterday"
			})
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "rare-script", Stage: 3, Modes: []string{"OUT-14"},
		Doc:    "now and then one word of the visible answer is a word in another script",
		Params: []Param{number("share", "5", "how many words of a thousand")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			chance := x.chance("rare-script")
			return rewriteText(onlyVisible, func() rewriter {
				return rewriteWords(func(_ int, first rune) string {
					if !unicode.IsLetter(first) || chance.IntN(1000) >= o.number("share") {
						return ""
					}
					return strangers[chance.IntN(len(strangers))]
				})
			})
		}}
	},
})

var strangers = []string{"потому", "因此", "しかし", "그래서", "คือ", "لأن", "επειδή", "क्योंकि", "אבל", "რადგან"}

// rewriteWords puts other words in the place of some, told by their number and their
// first character; "" leaves a word. Digits are words too, signs are not.
func rewriteWords(instead func(i int, first rune) string) rewriter {
	words, inside, gone := 0, false, false
	return rewriter{feed: func(s string) string {
		out := make([]rune, 0, len(s))
		for _, c := range s {
			was := inside
			inside = unicode.In(c, unicode.L, unicode.M, unicode.N) || was && (c == '\'' || c == '’')
			if inside && !was {
				word := instead(words, c)
				words++
				gone = word != ""
				out = append(out, []rune(word)...)
			}
			if !inside || !gone {
				out = append(out, c)
			}
		}
		return string(out)
	}}
}
