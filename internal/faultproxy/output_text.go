package faultproxy

import (
	"strings"
	"unicode/utf8"
)

// Good answers with damage in the text.

var _ = register(fault{
	Info: Info{
		ID: "replacement", Stage: 2, Modes: []string{"OUT-06"},
		Doc: "replacement characters stand in the visible answer",
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyVisible, func() rewriter { return strew([]string{"\uFFFD"}, 4, 3) })
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "control", Stage: 2, Modes: []string{"OUT-07"},
		Doc: "NUL and control characters stand in the visible answer",
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyVisible, func() rewriter { return strew([]string{"\x00", "\x01", "\x1b", "\x07"}, 6, 2) })
	}}),
})

// strew puts one of the things after every n-th character, and at the end so many
// that there are at least least.
func strew(things []string, n, least int) rewriter {
	runes, strewn := 0, 0
	next := func() string {
		strewn++
		return things[(strewn-1)%len(things)]
	}
	return rewriter{
		feed: func(s string) string {
			var b strings.Builder
			for _, c := range s {
				b.WriteRune(c)
				if runes++; runes%n == 1 {
					b.WriteString(next())
				}
			}
			return b.String()
		},
		rest: func() string {
			var b strings.Builder
			for strewn < least {
				b.WriteString(next())
			}
			return b.String()
		},
	}
}

var _ = register(fault{
	Info: Info{
		ID: "markers", Stage: 2, Modes: []string{"OUT-08"},
		Doc: "the visible answer ends with the control markers of the chat template",
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyVisible, func() rewriter {
			return rewriter{
				feed: asIs,
				rest: func() string { return "<|im_end|><|im_start|>" },
			}
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "mojibake", Stage: 2, Modes: []string{"OUT-06"},
		Doc: "the visible answer is UTF-8 that was once read as Windows-1252",
	},
	build: always(acts{answer: func(*exchange) filter { return rewriteText(onlyVisible, mojibake) }}),
})

// mojibake reads every character beyond ASCII wrongly. English has few of them, so
// every third space counts as a no-break space and an apostrophe as a curly one.
func mojibake() rewriter {
	spaces, wrong := 0, 0
	return rewriter{
		feed: func(s string) string {
			var b strings.Builder
			for _, c := range s {
				switch {
				case c == '\'':
					c = '’'
				case c == ' ':
					if spaces++; spaces%3 == 1 {
						c = '\u00a0'
					}
				}
				if c < utf8.RuneSelf {
					b.WriteRune(c)
					continue
				}
				wrong++
				b.WriteString(misread(c))
			}
			return b.String()
		},
		rest: func() string { // three are what tells it from a stray sign
			return strings.Repeat(" "+misread('é'), max(0, 3-wrong))
		},
	}
}

// windows1252 is the part of the code page that differs from Latin-1; its five
// holes are read as Latin-1.
var windows1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

func misread(c rune) string {
	var b strings.Builder
	for _, by := range []byte(string(c)) {
		if by >= 0x80 && by < 0xa0 {
			b.WriteRune(windows1252[by-0x80])
		} else {
			b.WriteRune(rune(by))
		}
	}
	return b.String()
}

// wrongRun is the shortest run of digits that gets a wrong one: years stay right.
const wrongRun = 5

var _ = register(fault{
	Info: Info{
		ID: "wrong-digit", Stage: 2, Modes: []string{"OUT-13"},
		Doc: "one digit is wrong in every number of five or more, also in tool arguments",
	},
	build: always(acts{answer: digits(everyText, slip)}),
})

// digits changes every number of five digits or more.
func digits(want func(channel) bool, change func(run string) string) func(*exchange) filter {
	return func(*exchange) filter {
		return rewriteText(want, func() rewriter { return rewriteRuns(wrongRun, change) })
	}
}

// slip changes the digit in the middle, always the same way: the fault is a wrong
// answer, not one that varies.
func slip(run string) string {
	b := []byte(run)
	i := len(b) / 2
	b[i] = '0' + (b[i]-'0'+5)%10
	return string(b)
}
