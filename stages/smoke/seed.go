package smoke

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/seed",
	Doc: `sampling is what was asked for: a seed repeats, and a temperature varies

A server that ignores the seed makes every comparison noise; one that overrides the temperature answers with parameters that nobody chose.
A seed that the server refused is not asked for.`,
	Since:  "0.2.0",
	Cost:   1800 * time.Millisecond,
	Modes:  []string{"DET-04", "IDN-06"},
	Faults: []string{"seed-ignored", "always-greedy"},
	Causes: []string{"the field is not known to the server", "the server's own sampling parameters win", "other load on the server changes batches"},
	Next:   []string{"the server's option that sets generation defaults"},
	Run:    seed,
})

// At most so many seeds are tried until two answers differ, and so many again until one
// repeats.
const seeds, repeats = 3, 2

func seed(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	ask := func(seed int) (string, error) {
		a, err := ep.AskPlain(ctx, endpoint.Chat("Write one sentence about the sea.").Temperature(1.3).Seed(seed).MaxTokens(12))
		return a.Everything(), err
	}
	texts := map[int]string{}
	distinct := map[string]bool{}
	for s := 1; s <= seeds && len(distinct) < 2; s++ {
		text, err := ask(s)
		if err != nil {
			return gates.Finding{}, err
		}
		texts[s], distinct[text] = text, true
	}
	if len(distinct) == 1 {
		return gates.Warn("%d seeds at temperature 1.3 give one answer: the temperature is overridden, or the model knows one sentence", seeds).With("%s", gates.Quote(texts[1], 120)), nil
	}
	for _, f := range ep.Refused() {
		if f == "seed" {
			return gates.Pass("info: the server refuses seed; temperature 1.3 gave %d answers from %d seeds", len(distinct), len(texts)), nil
		}
	}
	// Under load other batches may turn a token, so one difference is none.
	for s := 1; s <= repeats; s++ {
		again, err := ask(s)
		if err != nil {
			return gates.Finding{}, err
		}
		if again == texts[s] {
			return gates.Pass("%d answers from %d seeds, and seed %d repeats", len(distinct), len(texts), s), nil
		}
	}
	return gates.Warn("%d of %d seeds give another answer the second time: the seed is ignored", repeats, repeats).With("%s", gates.Quote(texts[1], 120)), nil
}
