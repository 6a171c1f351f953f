package pieces_test

import (
	"errors"
	"testing"

	"infbench/internal/refengine/pieces"
	"pgregory.net/rapid"
)

func TestCutsByRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"The code is 48213907.", []string{"The", " code", " is", " ", "482", "139", "07", "."}},
		{"engineering", []string{"engin", "eerin", "g"}},
		{"a   b", []string{"a", "  ", " b"}},
		{"x\n\n\ty", []string{"x", "\n\n", "\t", "y"}},
		{"漢字👍🏽", []string{"漢", "字", "👍", "🏽"}},
		{"<|im_end|>", []string{"<", "|", "im", "_", "end", "|", ">"}},
		{"", nil},
	} {
		ids := pieces.Encode(c.text)
		if len(ids) != len(c.want) || pieces.Count(c.text) != len(c.want) {
			t.Errorf("%q: got %d tokens, count %d, want %d", c.text, len(ids), pieces.Count(c.text), len(c.want))
			continue
		}
		for i, id := range ids {
			got, err := pieces.AppendPiece(nil, id)
			if err != nil || string(got) != c.want[i] {
				t.Errorf("%q: token %d is %q (%v), want %q", c.text, i, got, err, c.want[i])
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ a-zA-Z0-9\n\t.,é漢]{0,60}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		got, err := pieces.Decode(pieces.Encode(text))
		if err != nil || got != text {
			t.Fatalf("got %q (%v), want %q", got, err, text)
		}
	})
}

func TestIDsSpellOnePiece(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int32Range(256, pieces.Size).Draw(t, "id")
		text, err := pieces.AppendPiece(nil, id)
		if err != nil {
			if !errors.Is(err, pieces.ErrUnknownID) {
				t.Fatalf("id %d: %v", id, err)
			}
			return
		}
		// A byte above ASCII stands for broken UTF-8 and may join its neighbour.
		if got := pieces.Encode(string(text)); id >= 512 && (len(got) != 1 || got[0] != id) && string(text) != "\uFFFD" {
			t.Fatalf("id %d spells %q, which encodes to %v", id, text, got)
		}
	})
}
