package correctness

import (
	"context"
	"time"

	"infbench/gates"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/scripts",
	Doc: `no word comes in a script that nobody used

A race that frees live cache blocks, or an approximate top-k, puts a word of another language into good text, once in hundreds of answers. No answer alone
shows it; all that this run has read so far do, each held against the scripts of its own prompt.`,
	Since:  "0.2.0",
	Cost:   time.Millisecond,
	Modes:  []string{"OUT-14"},
	Faults: []string{"rare-script"},
	Causes: []string{"asynchronous scheduling frees blocks that are in use", "top-k or sampling kernels that are approximate", "damaged weights"},
	Next:   []string{"asynchronous scheduling off", "another sampling back end"},
	Late:   true,
	Run: func(_ context.Context, ep Subject) (gates.Finding, error) {
		t := ep.Scripts()
		switch {
		case t.Odd >= 3:
			return gates.Fail("%d words in %d of %d answers are in a script that their prompts do not have", t.Foreign, t.Odd, t.Answers).With("one of them: %s", gates.Quote(t.Example, 60)), nil
		case t.Odd > 0: // a model may know a foreign word for what it was asked
			return gates.Warn("%d words in %d of %d answers are in a script that their prompts do not have", t.Foreign, t.Odd, t.Answers).With("one of them: %s", gates.Quote(t.Example, 60)), nil
		}
		return gates.Pass("none in %d answers of %d words (a rate below %.1f %% of the answers might not have shown)", t.Answers, t.Words, 300/float64(max(t.Answers, 1))), nil
	},
}, sizing{})
