package faultproxy

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"unicode"
)

// Answers in a given form, which go wrong when several are made at once.

var _ = register(fault{
	Info: Info{
		ID: "salad-in-json", Stage: 3, Modes: []string{"STC-03"},
		Doc:    "with several requests for JSON in flight the strings in their answers are letters of many scripts; the JSON is valid and enumerations hold",
		Params: []Param{number("constrained", "4", "how many")},
	},
	build: func(o options) acts {
		return acts{
			scope: func(x *exchange) bool { return x.bound },
			answer: func(x *exchange) filter {
				var format any
				_ = json.Unmarshal(x.asked("response_format"), &format)
				fixed := map[string]bool{}
				fixedStrings(format, fixed)
				next := x.chance("salad-in-json").IntN(len(shards))
				shard := func() string {
					next = (next + 1) % len(shards)
					return shards[next]
				}
				return rewriteText(onlyVisible, func() rewriter {
					r := &jsonStrings{
						// Asked for each string: the others may come when this answer has begun.
						meant:  func() bool { return x.traffic.peakBound(x) >= o.number("constrained") },
						change: func(raw string) string { return scatter(raw, fixed, shard) },
					}
					return rewriter{feed: r.feed, rest: r.rest}
				})
			},
		}
	},
})

// shards are of another script than the one before.
var shards = []string{"ла", "ที", "하고", "ών", "ment", "שם", "ქა", "عل", "ск", "की", "un", "ությ"}

// fixedStrings gathers what a schema allows word for word.
func fixedStrings(v any, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			fixedStrings(one, into)
		}
	case map[string]any:
		for name, one := range v {
			list, _ := one.([]any)
			if name == "const" {
				list = []any{one}
			}
			for _, s := range list {
				if s, ok := s.(string); ok && (name == "enum" || name == "const") {
					into[s] = true
				}
			}
			fixedStrings(one, into)
		}
	}
}

// scatter puts the shards in the place of the letters and digits of a JSON string, as
// it stands between its quotes.
func scatter(raw string, fixed map[string]bool, shard func() string) string {
	var s string
	if json.Unmarshal([]byte(`"`+raw+`"`), &s) == nil && fixed[s] {
		return raw
	}
	var b strings.Builder
	var left []rune
	r := []rune(raw)
	for i := 0; i < len(r); i++ {
		switch {
		case r[i] == '\\':
			n := 2
			if i+1 < len(r) && r[i+1] == 'u' {
				n = 6
			}
			end := min(i+n, len(r))
			b.WriteString(string(r[i:end]))
			i = end - 1
		case unicode.In(r[i], unicode.L, unicode.N):
			if len(left) == 0 {
				left = []rune(shard())
			}
			b.WriteRune(left[0])
			left = left[1:]
		default:
			b.WriteRune(r[i])
		}
	}
	return b.String()
}

// jsonStrings changes the strings of a JSON text that are values and meant when they
// begin, as it streams by.
type jsonStrings struct {
	meant  func() bool
	change func(raw string) string

	within  []rune // the brackets around
	key     bool   // the next string is one
	inside  bool   // of a string
	spared  bool   // the string is not to be changed
	escaped bool
	held    strings.Builder // of a value
}

func (j *jsonStrings) feed(s string) string {
	var out strings.Builder
	for _, c := range s {
		switch {
		case j.inside:
			j.inString(c, &out)
			continue
		case c == '"':
			j.inside = true
			j.spared = j.key || !j.meant()
		case c == '{' || c == '[':
			j.within = append(j.within, c)
			j.key = c == '{'
		case c == '}' || c == ']':
			j.within = j.within[:max(len(j.within)-1, 0)]
		case c == ',':
			j.key = len(j.within) > 0 && j.within[len(j.within)-1] == '{'
		case c == ':':
			j.key = false
		}
		out.WriteRune(c)
	}
	return out.String()
}

func (j *jsonStrings) inString(c rune, out *strings.Builder) {
	ends := c == '"' && !j.escaped
	j.escaped = c == '\\' && !j.escaped
	if ends {
		j.inside = false
		out.WriteString(j.rest())
	}
	if j.spared || ends {
		out.WriteRune(c)
		return
	}
	j.held.WriteRune(c)
}

// rest is what a value has so far.
func (j *jsonStrings) rest() string {
	s := j.held.String()
	j.held.Reset()
	if s == "" {
		return ""
	}
	return j.change(s)
}

var _ = register(fault{
	Info: Info{
		ID: "guided-kills", Stage: 3, Modes: []string{"STC-04", "CON-07"},
		Doc:    "a request for JSON with another request in flight gets 500, and so does every later request",
		Params: []Param{asksItself(inCompany)},
	},
	build: func(o options) acts {
		var dead atomic.Bool
		kills := func(x *exchange) respondFunc {
			if x.bound && x.traffic.peak(x) > o.number("above") {
				dead.Store(true)
			}
			if dead.Load() {
				return fail
			}
			return nil
		}
		return acts{admit: kills, instead: kills}
	},
})
