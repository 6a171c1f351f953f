package faultproxy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Numbers change wherever the events cut them, and what has none to change goes out in
// the bytes that it came in.
func TestNumbersChangeHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	const codes = "The codes are 48213907 and 71640258. "
	rapid.Check(t, func(r *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"482", "13907", "48213907", "716", "402", "58", " ", "a ", ".", "漢", ""}), 1, 12).Draw(r, "pieces")
		p := proxy(t, streamOf(pieces...), "decoy:depth=0")
		got := read(200, map[string][]string{"Content-Type": {"text/event-stream"}}, record(t, p, chatBody(codes, true, "")).Body.String(), nil)
		text := strings.Join(pieces, "")
		want := longNumber.ReplaceAllStringFunc(text, func(run string) string {
			switch run {
			case "48213907":
				return "71640258"
			case "71640258":
				return "48213907"
			}
			return run
		})
		if got.text != want || len(got.finish) != 1 || got.done != 1 {
			r.Fatalf("%q became %q, want %q", pieces, got.text, want)
		}
		good := record(t, streamOf(pieces...), chatBody(codes, true, "")).Body.String()
		if text == want && got.raw != good {
			r.Fatalf("the bytes changed: %s", got.raw)
		}
	})
}

// The one place of another word is the same however the events cut the text between words.
func TestWordingDoesNotDependOnEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{" the", " old", " house", " there", ",", "-the", " 42", " it's", "\n", " and", " 漢字"}), 1, 30).Draw(r, "words")
		said := func(pieces ...string) string {
			p := proxy(t, streamOf(pieces...), "drift-in-company:above=0,share=100,words=3")
			return read(200, map[string][]string{"Content-Type": {"text/event-stream"}}, record(t, p, chatBody("?", true, "")).Body.String(), nil).text
		}
		var pieces []string
		for i := 0; i < len(words); {
			n := rapid.IntRange(1, len(words)-i).Draw(r, "n")
			pieces = append(pieces, strings.Join(words[i:i+n], ""))
			i += n
		}
		one, cut := said(strings.Join(words, "")), said(pieces...)
		if one != cut {
			r.Fatalf("%q became %q, in pieces %q", words, one, cut)
		}
		if a, b := strings.Fields(strings.Join(words, "")), strings.Fields(one); len(a) != len(b) {
			r.Fatalf("%q became %q", words, one)
		}
	})
}
