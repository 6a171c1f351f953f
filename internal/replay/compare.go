package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/stages/endpoint"
)

// Difference is the first thing in which two answers are not the same.
type Difference struct {
	// Where names the part of the answer, such as the content.
	Where string
	// At is the first character of it that differs, from 1; 0 where it is no text.
	At int
	// Recorded and Now say what stood and stands there, safe to print.
	Recorded, Now string
}

// compare returns the first difference, nil where there is none. An answer that was
// dropped half-way, then or now, is compared as far as both go.
func compare(was, now evidence.Exchange) *Difference {
	a, b := was.Answer, now.Answer
	if d := failures(a.Failure, b.Failure); d != nil {
		return d
	}
	if failed(a) && !stopped(a) {
		return words("the form of the error", form(was.Raw), form(now.Raw))
	}
	half := stopped(a) || stopped(b) || a.End == endpoint.HungUp || b.End == endpoint.HungUp
	for _, c := range []struct{ where, was, now string }{
		{"the reasoning", a.Reasoning, b.Reasoning}, {"the content", a.Content, b.Content}, {"the refusal", a.Refusal, b.Refusal},
	} {
		if d := texts(c.where, c.was, c.now, half); d != nil {
			return d
		}
	}
	if d := calls(a.Calls, b.Calls, half); d != nil || half {
		return d
	}
	return cmp.Or(
		words("finish_reason", gates.Quote(a.Finish, 40), gates.Quote(b.Finish, 40)),
		words("the end", gates.Printable(string(a.End), 20), gates.Printable(string(b.End), 20)),
		words("the contract", breaches(a), breaches(b)),
		words("the usage", usage(a.Usage), usage(b.Usage)),
		logprobs(a.Logprobs, b.Logprobs),
	)
}

func failed(a endpoint.Answer) bool { return a.Failure != nil }

// stopped reports whether the client itself broke the exchange off.
func stopped(a endpoint.Answer) bool { return failed(a) && a.Failure.Kind == endpoint.Stopped }

// failures compares why there is no answer. The words of a server are left out: they hold
// ids and times.
func failures(was, now *endpoint.Failure) *Difference {
	say := func(f *endpoint.Failure) string {
		if f == nil {
			return "an answer"
		}
		return gates.Printable(f.Error(), 200)
	}
	switch {
	case was == nil && now == nil, was != nil && now != nil && was.Kind == now.Kind && was.Status == now.Status:
		return nil
	case was != nil && was.Kind == endpoint.Stopped && now == nil, now != nil && now.Kind == endpoint.Stopped && was == nil:
		return nil // it was over before it was broken off
	}
	return &Difference{Where: "the outcome", Recorded: say(was), Now: say(now)}
}

// form says what a body is that is no answer.
func form(raw string) string {
	switch text := strings.TrimSpace(raw); {
	case text == "":
		return "no body"
	case json.Valid([]byte(text)):
		return "JSON"
	case strings.HasPrefix(text, "<"):
		return "HTML"
	}
	return "text"
}

func words(where, was, now string) *Difference {
	if was == now {
		return nil
	}
	return &Difference{Where: where, Recorded: was, Now: now}
}

// before and after are how many characters around a difference are shown.
const before, after = 24, 72

// texts compares two texts; of halves the shorter need only be the beginning of the
// longer.
func texts(where, was, now string, halves bool) *Difference {
	at, chars := 0, 0
	for at < len(was) && at < len(now) {
		r, n := utf8.DecodeRuneInString(was[at:])
		s, m := utf8.DecodeRuneInString(now[at:])
		if r != s || n != m || was[at:at+n] != now[at:at+m] {
			break
		}
		at, chars = at+n, chars+1
	}
	if at == len(was) && at == len(now) || halves && (at == len(was) || at == len(now)) {
		return nil
	}
	from := at
	for k := 0; k < before && from > 0; k++ {
		_, n := utf8.DecodeLastRuneInString(was[:from])
		from -= n
	}
	return &Difference{Where: where, At: chars + 1, Recorded: around(was, from, at), Now: around(now, from, at)}
}

// around quotes a text from one place to some way behind another.
func around(text string, from, at int) string {
	to := at
	for k := 0; k < after && to < len(text); k++ {
		_, n := utf8.DecodeRuneInString(text[to:])
		to += n
	}
	out := gates.Quote(text[from:to], 0)
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

func calls(was, now []endpoint.ToolCall, halves bool) *Difference {
	for i := range min(len(was), len(now)) {
		where := fmt.Sprintf("call %d", i+1)
		if d := cmp.Or(texts("the name of "+where, was[i].Name, now[i].Name, halves), texts("the arguments of "+where, was[i].Arguments, now[i].Arguments, halves)); d != nil {
			return d
		}
	}
	if halves {
		return nil
	}
	return words("the calls", counted(len(was), "call"), counted(len(now), "call"))
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func breaches(a endpoint.Answer) string {
	if len(a.Broke) == 0 {
		return "kept"
	}
	var out []string
	for _, b := range a.Broke {
		out = append(out, b.What)
	}
	return gates.Printable(strings.Join(out, "; "), 200)
}

// usage says what was counted of what does not change with a cache.
func usage(u endpoint.Usage) string {
	say := func(c gates.Count) string {
		if n, ok := c.N(); ok {
			return fmt.Sprint(n)
		}
		return "unknown"
	}
	return fmt.Sprintf("prompt %s, completion %s", say(u.Prompt), say(u.Completion))
}

// near is what the logprob of one token may differ by between two runs of a server that
// computes in 16 bits.
const near = 0.1

func logprobs(was, now []endpoint.TokenLogprob) *Difference {
	if len(was) != len(now) {
		return words("the logprobs", counted(len(was), "token"), counted(len(now), "token"))
	}
	for i := range was {
		a, b := was[i], now[i]
		if !same(a.Alternative, b.Alternative) || len(a.Top) != len(b.Top) {
			beside := func(l endpoint.TokenLogprob) string {
				return fmt.Sprintf("%s beside %d", scored(l.Alternative), len(l.Top))
			}
			return &Difference{Where: fmt.Sprintf("the logprob of token %d", i+1), Recorded: beside(a), Now: beside(b)}
		}
		where := fmt.Sprintf("the logprobs listed with token %d", i+1)
		if x, ok := unmatched(a.Top, b.Top); ok {
			return &Difference{Where: where, Recorded: scored(x), Now: listed(x, b.Top)}
		}
		if x, ok := unmatched(b.Top, a.Top); ok {
			return &Difference{Where: where, Recorded: listed(x, a.Top), Now: scored(x)}
		}
	}
	return nil
}

func scored(a endpoint.Alternative) string {
	return fmt.Sprintf("%s %.3f", gates.Quote(a.Token, 40), a.Logprob)
}

// listed says what a list has in the place of a token that it does not have so.
func listed(a endpoint.Alternative, list []endpoint.Alternative) string {
	for _, b := range list {
		if b.Token == a.Token {
			return scored(b)
		}
	}
	return "no " + gates.Quote(a.Token, 40)
}

func same(a, b endpoint.Alternative) bool { return a.Token == b.Token && nearby(a.Logprob, b.Logprob) }

func nearby(a, b float64) bool { return math.Abs(a-b) <= near || math.IsNaN(a) && math.IsNaN(b) }

// unmatched returns the first token of a list that another one of the same length lacks, or
// has with another logprob. The order is no matter, and the likelihood of the last places
// decides who is in the list: a token that is no more likely than they are may be missing.
func unmatched(list, other []endpoint.Alternative) (endpoint.Alternative, bool) {
	taken := make([]bool, len(other))
	least := math.Inf(1)
	for _, b := range other {
		least = min(least, b.Logprob) // NaN where one is: then nothing may be missing
	}
	for _, a := range list {
		i := 0
		for i < len(other) && (taken[i] || !same(a, other[i])) {
			i++
		}
		switch {
		case i < len(other):
			taken[i] = true
		case a.Logprob <= least+near:
		default:
			return a, true
		}
	}
	return endpoint.Alternative{}, false
}
