package faultproxy

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However a stream is cut into reads, the blocks are the same and together they are
// the stream.
func FuzzSplitter(f *testing.F) {
	for _, s := range []string{"data: {}\n\n", "data: a\r\n\r\n: c\n\ndata: [DONE]\n\n", "\n\n\n", "data: {\"a\":1} \n\nrest", "\r\n", "data"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = min(max(n, 1), 64)
		var whole, cut [][]byte
		var one, many splitter
		one.feed(b, func(block []byte) { whole = append(whole, block) })
		for rest := b; len(rest) > 0; {
			k := min(n, len(rest))
			many.feed(rest[:k], func(block []byte) { cut = append(cut, block) })
			rest = rest[k:]
		}
		if !bytes.Equal(bytes.Join(whole, nil), bytes.Join(cut, nil)) || len(whole) != len(cut) {
			t.Fatalf("cut by %d: %q, whole: %q", n, cut, whole)
		}
		if got := append(bytes.Join(cut, nil), many.rest()...); !bytes.Equal(got, b) {
			t.Fatalf("joined %q, want %q", got, b)
		}
		for _, block := range whole {
			if got := parseEvent(block).bytes(); !bytes.Equal(got, block) {
				t.Fatalf("event %q became %q", block, got)
			}
		}
	})
}

// Runs of digits are found wherever the tokens cut them.
func TestRunsAcrossEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringMatching(`[0-9]{0,4}[a ,漢]?[0-9]{0,3}`)).Draw(t, "pieces")
		r := rewriteRuns(6, func(run string) string { return "<" + run + ">" })
		got := ""
		for _, p := range pieces {
			got += r.feed(p)
		}
		got += r.rest()
		r = rewriteRuns(6, func(run string) string { return "<" + run + ">" })
		if want := r.feed(strings.Join(pieces, "")) + r.rest(); got != want {
			t.Fatalf("%q gave %q, whole %q", pieces, got, want)
		}
		if back := strings.NewReplacer("<", "", ">", "").Replace(got); back != strings.Join(pieces, "") {
			t.Fatalf("%q lost text: %q", pieces, got)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"lop": "loop", "drpi": "drip", "cutt": "cut", "tool-as-txt": "tool-as-text"} {
		var ids []string
		for _, f := range registry {
			ids = append(ids, f.ID)
		}
		if got := nearest(word, ids); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}
