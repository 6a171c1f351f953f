package correctness

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/determinism",
	Doc: `an idle server answers a repeated question the same way at temperature 0

Races, atomics in expert routing and a broken all-reduce make idle repeats differ. Different wording alone is a warning: batch-size
dependent kernels do it too. A code that is right in one repeat and wrong in the next is a failure.`,
	Since:  "0.1.0",
	Cost:   5 * time.Second,
	Modes:  []string{"DET-01", "NUM-08", "IDN-06"},
	Faults: []string{"nondeterministic", "wrong-digit-every-2"},
	Causes: []string{"a race in the engine, or an all-reduce over a broken path", "several replicas behind one address", "the server overrides the temperature"},
	Next:   []string{"the same server on one device", "ten requests over new connections: do two kinds of answer appear?"},
	Run:    determinism,
}, sizing{5, func(room) Work { return asks(10, 100, 30) }})

func determinism(ctx context.Context, ep Subject) (gates.Finding, error) {
	const repeats = 4
	c := ep.Canaries().Issue()
	requests := []endpoint.Request{
		question("", c),
		endpoint.Chat("Count from 1 to 30, separated by commas.").MaxTokens(48),
		endpoint.Chat("Describe a harbour in the morning in two sentences.").MaxTokens(48),
	}
	equal, total := 0, 0
	var example string
	for i, r := range requests {
		// The first answer fills the cache; cold against warm is another check's question.
		if _, err := ep.Ask(ctx, r); err != nil {
			return gates.Finding{}, err
		}
		var base endpoint.Answer
		right := map[bool]endpoint.Answer{}
		for k := range repeats {
			a, err := ep.Ask(ctx, r)
			if err != nil {
				return gates.Finding{}, err
			}
			if k == 0 {
				base = a
			} else {
				total++
				if a.Everything() == base.Everything() {
					equal++
				} else if example == "" {
					example = fmt.Sprintf("after %d equal characters: %s and %s", commonPrefix(base.Everything(), a.Everything()), base.Says(), a.Says())
				}
			}
			echo, _ := ep.Canaries().Judge(a.Visible(), c)
			right[echo == gates.Found] = a
		}
		if i == 0 && len(right) == 2 {
			return gates.Fail("the same question at temperature 0 is answered right and wrong by turns").With("asked for %s", c).
				With("right: %s", right[true].Says()).With("wrong: %s", right[false].Says()), nil
		}
	}
	if equal < total {
		return gates.Warn("%d of %d repeats on an idle server are equal", equal, total).With("%s", example), nil
	}
	return gates.Pass("%d of %d repeats equal (a difference in fewer than %.0f %% might not have shown)", equal, total, 300/float64(total)), nil
}
