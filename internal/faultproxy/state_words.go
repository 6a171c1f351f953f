package faultproxy

import "strings"

var _ = register(fault{
	Info: Info{
		ID: "nondeterministic", Stage: 3, Modes: []string{"DET-01"},
		Doc: "the same request gets other words each time; an answer that must have a form keeps to it, and has the same",
	},
	build: always(acts{scope: func(x *exchange) bool { return x.generates && !x.bound }, answer: func(x *exchange) filter {
		chance := x.chance("nondeterministic")
		return rewriteText(onlyVisible, func() rewriter {
			// The request's number chooses the first word: neighbours never agree.
			n, spaces, next := x.earlier, 0, 1+chance.IntN(4)
			filler := func() string {
				w := fillers[n%len(fillers)]
				n += 1 + chance.IntN(len(fillers)-1)
				return w
			}
			inserted := false
			return rewriter{
				feed: func(s string) string {
					var b strings.Builder
					for _, c := range s {
						if c == ' ' {
							spaces++
						}
						if c == ' ' && spaces == next {
							b.WriteString(" " + filler())
							next += 6 + chance.IntN(6)
							inserted = true
						}
						b.WriteRune(c)
					}
					return b.String()
				},
				rest: func() string {
					if inserted {
						return ""
					}
					return " " + filler()
				},
			}
		})
	}}),
})

var fillers = []string{
	"indeed", "really", "actually", "surely", "clearly", "perhaps", "certainly", "basically", "then", "also",
	"of course", "naturally", "simply", "quite", "rather", "truly", "as it were", "in fact", "for sure", "well",
}
