package faultproxy

import (
	"slices"
	"strings"
)

// Answers that are wrong because of the requests they run with.

var _ = register(fault{
	Info: Info{
		ID: "first-user-only", Stage: 3, Modes: []string{"CON-02"},
		Doc: "of requests in flight together only the first that came is right; all others have one digit wrong in every number of five or more",
	},
	build: always(acts{
		scope:  func(x *exchange) bool { return x.generates && x.ahead > 0 },
		answer: digits(everyText, slip),
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "late-arrivals-decay", Stage: 3, Modes: []string{"CON-03", "OUT-10"},
		Doc: "where different prompts are in flight together, the visible answers to those that came late turn into fragments of words",
		Params: []Param{
			number("from", "3", "the first that is late, counted from 1"),
			number("chars", "20", "characters that are right"),
		},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			other := func(y *exchange) bool { return y.prompt != x.prompt }
			if x.ahead+1 < o.number("from") || !slices.ContainsFunc(x.traffic.company(x), other) {
				return filter{}
			}
			chance := x.chance("late-arrivals-decay")
			return rewriteText(onlyVisible, func() rewriter {
				return decay(o.number("chars"), func() string { return leaf(chance) })
			})
		}}
	},
})

// decay leaves the first characters and then puts others, one for each.
func decay(good int, leaf func() string) rewriter {
	var fall []rune
	return rewriter{feed: func(s string) string {
		r := []rune(s)
		for i := range r {
			if good > 0 {
				good--
				continue
			}
			if len(fall) == 0 {
				fall = []rune(leaf())
			}
			r[i], fall = fall[0], fall[1:]
		}
		return string(r)
	}}
}

var _ = register(fault{
	Info: Info{
		ID: "context-divided", Stage: 3, Modes: []string{"CON-06"},
		Doc:    "requests in flight together share one context: a prompt that is longer than its part loses its head without a word",
		Params: []Param{number("characters", "16000", "characters of the whole context; a request alone may have more")},
	},
	build: func(o options) acts {
		return acts{
			scope: func(x *exchange) bool { return x.generates && x.ahead > 0 },
			request: func(x *exchange) {
				if part := o.number("characters") / (x.ahead + 1); x.length > part {
					x.keepTail(part)
				}
			},
		}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "mixed-lengths-wrong", Stage: 3, Modes: []string{"CON-10"},
		Doc:    "while a much longer prompt is in flight, one digit is wrong in every number of five or more in the answer to a short one",
		Params: []Param{number("times", "8", "by how much the other prompt is longer")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			longer := func(y *exchange) bool { return y.length >= x.length*o.number("times") }
			if !slices.ContainsFunc(x.traffic.company(x), longer) {
				return filter{}
			}
			return digits(everyText, slip)(x)
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "batch-size-wrong", Stage: 3, Modes: []string{"NUM-07"},
		Doc:    "with just so many requests in flight one digit is wrong in every number of five or more; with fewer or more all is right",
		Params: []Param{numbers("sizes", "4", "how many: the most that were in flight since the request came")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			if !slices.Contains(o.numbers("sizes"), x.traffic.peak(x)) {
				return filter{}
			}
			return digits(everyText, slip)(x)
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "preempt-offset", Stage: 3, Modes: []string{"CAC-06"},
		Doc: "a long answer that begins while others as long are under way lacks a piece in its middle",
		Params: []Param{
			number("slots", "3", "the first of the long answers under way that is hit, counted from 1"),
			number("tokens", "200", "the smallest token limit of a long answer"),
			number("at", "150", "characters before the gap"),
			number("lost", "20", "characters of the gap"),
		},
	},
	build: func(o options) acts {
		long := func(x *exchange) bool { return x.limit >= o.number("tokens") }
		return acts{
			scope: func(x *exchange) bool { return x.generates && long(x) },
			answer: func(x *exchange) filter {
				order := 1
				for _, y := range x.traffic.company(x) {
					if y.earlier < x.earlier && long(y) {
						order++
					}
				}
				if order < o.number("slots") {
					return filter{}
				}
				return rewriteText(onlyVisible, func() rewriter { return gap(o.number("at"), o.number("lost")) })
			},
		}
	},
})

// gap leaves out some characters.
func gap(from, size int) rewriter {
	said := 0
	return rewriter{feed: func(s string) string {
		var b strings.Builder
		for _, c := range s {
			if said < from || said >= from+size {
				b.WriteRune(c)
			}
			said++
		}
		return b.String()
	}}
}
