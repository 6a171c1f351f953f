package parity

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"infbench/stages/endpoint"
)

// scored is a token by its text, and its log probability.
type scored struct {
	name    string
	logprob float64
}

// A position is one token of an answer and what else was likely there. Tokens are known
// by their text, since servers share no ids; one without a text of its own (half a
// character, a control token) has no name and is never matched with another.
type position struct {
	name    string // of the chosen token
	end     bool   // the answer ended with it, whatever its name
	logprob float64
	top     []scored // those with a name of their own, likeliest first
}

// nameless reports whether the chosen token cannot be compared with another.
func (p position) nameless() bool { return p.name == "" && !p.end }

// same reports whether two positions chose the same token.
func (p position) same(q position) bool {
	if p.end || q.end {
		return p.end && q.end
	}
	return p.name == q.name
}

// valid reports whether the numbers are log probabilities at all.
func (p position) valid() bool {
	const slack = 1e-3 // of rounding above 0
	good := func(v float64) bool { return v <= slack && v > math.Inf(-1) }
	return good(p.logprob) && !slices.ContainsFunc(p.top, func(s scored) bool { return !good(s.logprob) })
}

// positions reads the log probabilities of an answer. Its last token is the end where the
// answer ended by itself and holds no text for it.
func positions(a endpoint.Answer) []position {
	spell := spellingOf(a)
	var out []position
	for _, e := range a.Logprobs {
		p := position{name: nameOf(e.Alternative, spell), logprob: e.Logprob}
		for _, t := range e.Top {
			p.top = append(p.top, scored{nameOf(t, spell), t.Logprob})
		}
		p.top = named(p.top)
		out = append(out, p)
	}
	if n := len(out); n > 0 && a.Finish == "stop" && isEnd(a, out) {
		out[n-1].name, out[n-1].end = "", true
	}
	return out
}

// isEnd reports whether the last token stands for the end: it has no text, or one that the
// answer does not hold.
func isEnd(a endpoint.Answer, list []position) bool {
	last := list[len(list)-1].name
	return last == "" || !strings.HasSuffix(strings.TrimSpace(a.Everything()), strings.TrimSpace(last))
}

// named keeps the entries whose name stands for one token of the list alone.
func named(list []scored) []scored {
	times := map[string]int{}
	for _, s := range list {
		times[s.name]++
	}
	list = slices.DeleteFunc(list, func(s scored) bool { return s.name == "" || times[s.name] > 1 })
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.logprob, a.logprob) })
	return list
}

// nameOf returns the text of a token, "" for one that has none: the text that servers show
// for half a character is the same for every half.
func nameOf(a endpoint.Alternative, spell func(string) string) string {
	name := a.Token
	if a.Bytes != "" {
		name = a.Bytes
	} else {
		name = spell(name)
	}
	if len(name) > mostName || !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError) {
		return ""
	}
	return name
}

// spellingOf finds out how a server without bytes spells its tokens: as text, or in the
// form of the vocabulary, in which a blank is Ġ or ▁. What makes the answer is right.
func spellingOf(a endpoint.Answer) func(string) string {
	plain := func(s string) string { return s }
	text := strings.TrimSpace(a.Everything())
	for _, spell := range []func(string) string{plain, fromByteLevel, fromMeta} {
		var b strings.Builder
		for _, e := range a.Logprobs {
			b.WriteString(spell(e.Token))
		}
		if strings.HasPrefix(strings.TrimSpace(b.String()), text) {
			return spell
		}
	}
	return plain
}

// fromMeta reads SentencePiece's sign for a blank.
func fromMeta(s string) string { return strings.ReplaceAll(s, "▁", " ") }

// fromByteLevel reads the signs that byte-level vocabularies write for bytes.
func fromByteLevel(s string) string {
	var out []byte
	for _, r := range s {
		b, ok := byteOf[r]
		if !ok {
			return s
		}
		out = append(out, b)
	}
	return string(out)
}

// byteOf maps the signs of GPT-2's vocabulary to bytes: printable ones stand for
// themselves, the others for 256 and up in order.
var byteOf = func() map[rune]byte {
	m := map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		if r := rune(b); r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®' && r <= 'ÿ' {
			m[r] = byte(b)
			continue
		}
		m[next] = byte(b)
		next++
	}
	return m
}()
