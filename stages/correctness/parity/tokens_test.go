package parity

import (
	"fmt"
	"math"
	"testing"

	"infbench/stages/endpoint"
)

func alternative(token, bytes string) endpoint.Alternative {
	return endpoint.Alternative{Token: token, Bytes: bytes, Logprob: -1}
}

// said is an answer whose tokens are spelt so.
func said(text, finish string, tokens ...string) endpoint.Answer {
	a := endpoint.Answer{Content: text, Finish: finish}
	for _, s := range tokens {
		a.Logprobs = append(a.Logprobs, endpoint.TokenLogprob{Alternative: alternative(s, ""), Top: []endpoint.Alternative{alternative(s, "")}})
	}
	return a
}

// Servers spell tokens as text, as byte-level vocabularies do, or as SentencePiece does.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]endpoint.Answer{
		"text":          said("The café\nis", "length", "The", " café", "\n", "is"),
		"byte level":    said("The café\nis", "length", "The", "ĠcafÃ©", "Ċ", "is"),
		"sentencepiece": said("The café\nis", "length", "▁The", "▁café", "\n", "is"),
	} {
		var got []string
		for _, p := range positions(a) {
			got = append(got, p.name)
		}
		want := []string{"The", " café", "\n", "is"}
		if name == "sentencepiece" {
			want[0] = " The"
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: tokens %q, want %q", name, got, want)
		}
	}
}

// The bytes win over the text; half a character has no name, and neither has a text that
// stands for two tokens of a list.
func TestNames(t *testing.T) {
	t.Parallel()
	plain := func(s string) string { return s }
	for _, c := range []struct {
		a    endpoint.Alternative
		want string
	}{
		{alternative("The", "The"), "The"},
		{alternative("Ġthe", " the"), " the"},
		{alternative("\uFFFD", "\xe3\x81"), ""},
		{alternative("\uFFFD", "\uFFFD"), ""},
		{alternative("\uFFFD", ""), ""},
		{alternative("", ""), ""},
	} {
		if got := nameOf(c.a, plain); got != c.want {
			t.Errorf("%q with bytes %q has the name %q, want %q", c.a.Token, c.a.Bytes, got, c.want)
		}
	}
	got := named([]scored{{"b", -3}, {"", -1}, {"x", -2}, {"x", -4}, {"a", -1}})
	if fmt.Sprint(got) != "[{a -1} {b -3}]" {
		t.Errorf("named tokens: %v", got)
	}
}

// The last token is the end when the answer ended by itself and does not hold it: engines
// show it without text, or by its marker.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    endpoint.Answer
		want bool
	}{
		{said("Rome.", "stop", "Rome", ".", ""), true},
		{said("Rome.", "stop", "Rome", ".", "<|im_end|>"), true},
		{said("Rome.", "stop", "Rome", "."), false},
		{said("Rome", "length", "Rome", ""), false},
	} {
		list := positions(c.a)
		last := list[len(list)-1]
		if last.end != c.want || last.end && last.name != "" {
			t.Errorf("%q with %d tokens, finish %s: end %t, want %t", c.a.Content, len(list), c.a.Finish, last.end, c.want)
		}
	}
	end, other := position{end: true}, position{name: "x"}
	if !end.same(end) || end.same(other) || !other.same(other) || end.nameless() || !(position{}).nameless() {
		t.Error("the end is the same as the end alone, and is not nameless")
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]bool{-1: true, 0: true, 1e-6: true, 0.5: false, math.Inf(-1): false, math.Inf(1): false} {
		if got := (position{logprob: v}).valid(); got != want {
			t.Errorf("logprob %v: valid %t, want %t", v, got, want)
		}
	}
	if (position{logprob: math.NaN()}).valid() || (position{top: []scored{{"a", math.NaN()}}}).valid() {
		t.Error("NaN is a logprob")
	}
}
