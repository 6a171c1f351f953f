package baseline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tokenizer counts as no real one does, but merges as they do: a word costs a token for each
// so many letters, and a pair of words that begins alike is one token cheaper.
func tokenizer(letters int) Counter {
	return func(_ context.Context, text string) (int, error) {
		n, last := 21, byte(0)
		for _, w := range strings.Fields(text) {
			switch {
			case w == "the":
				n++
			case w[0] == last:
				n += (len(w)+letters-1)/letters - 1
			default:
				n += (len(w) + letters - 1) / letters
			}
			last = w[0]
		}
		return n, nil
	}
}

func TestPromptsHaveTheLengthThatTheyShould(t *testing.T) {
	t.Parallel()
	const question = " The secret code is 12345678. What is the secret code?"
	for _, letters := range []int{1, 2, 3, 5, 9} {
		prompts, probes, err := Materialise(t.Context(), Standard(), question, tokenizer(letters))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range prompts {
			if p.TrueTokens != p.PromptTokens {
				t.Errorf("%d letters a token: %d tokens, want %d", letters, p.TrueTokens, p.PromptTokens)
			}
			// Another nonce changes the length by what its own words cost, and nothing else.
			n, _ := tokenizer(letters)(t.Context(), p.Text(Standard(), 3, "")+question)
			if d := n - p.PromptTokens; d < -16 || d > 16 {
				t.Errorf("%d letters a token: a measured prompt has %d tokens, want about %d", letters, n, p.PromptTokens)
			}
		}
		if probes > 8*len(prompts) {
			t.Errorf("%d letters a token: %d probes for %d prompts", letters, probes, len(prompts))
		}
	}
}

func TestALengthThatCannotBe(t *testing.T) {
	t.Parallel()
	s, err := NewSuite("short", "s", 5, Depth{64, 16})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Materialise(t.Context(), s, strings.Repeat(" long word", 100), tokenizer(4)); err == nil || !strings.Contains(err.Error(), "alone have") {
		t.Errorf("a question longer than the prompt: %v", err)
	}
	broken := fmt.Errorf("no answer")
	if _, _, err := Materialise(t.Context(), s, "?", func(context.Context, string) (int, error) { return 0, broken }); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a counter that fails: %v", err)
	}
	calls := 0
	_, _, err = Materialise(t.Context(), s, "?", func(context.Context, string) (int, error) { calls++; return 7, nil })
	if calls > mostProbes {
		t.Errorf("a counter that always says the same is asked %d times", calls)
	}
	_ = err
}

func TestOrderIsFrozenAndMixed(t *testing.T) {
	t.Parallel()
	s := Standard()
	seen := map[string]bool{}
	for r := range 5 {
		o := s.Order(r)
		if !slices.Equal(slices.Sorted(slices.Values(o)), []int{0, 1, 2, 3, 4}) || !slices.Equal(o, s.Order(r)) {
			t.Errorf("repeat %d: %v", r, o)
		}
		seen[fmt.Sprint(o)] = true
	}
	if len(seen) < 3 {
		t.Errorf("five repeats have %d orders", len(seen))
	}
}
