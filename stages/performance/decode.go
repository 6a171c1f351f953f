package performance

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/record"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/decode",
	Doc: `decode was measured with its KV depth, from tokens that somebody counted

Chunks are not tokens: a parser holds some back, speculation sends several at once. A decode rate without the depth at which it was taken
says little, since attention costs more with every token of context. Where the output length cannot be forced, early ends bias it.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"USG-01", "STR-05", "STP-07"},
	Faults: []string{"usage-missing", "length-not-forced", "one-token"},
	Causes: []string{"the server sends no usage in streams", "the engine ignores ignore_eos"},
	Next:   []string{"--tokenizer FILE, so that the client counts", "the server's option that forces usage in streams"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		if s.workload.TokenSource == record.ChunkCount {
			return gates.Warn("no decode rate: nobody counted the tokens"), nil
		}
		for _, l := range s.levels {
			switch {
			case l.saturated != "": // see performance/e2e
			case len(l.void) > 0:
				return gates.Warn("%s is void: %s", l.arrival, l.void[0]).Because("see performance/answers and performance/e2e"), nil
			case l.good < 2:
				return gates.Warn("%s has %d good answers: a median needs 2", l.arrival, l.good), nil
			case l.shortened > 0:
				return gates.Warn("%d of %d answers at %s ended before %d tokens: the rate is biased", l.shortened, l.good, l.arrival, s.workload.OutputTokens), nil
			}
		}
		return gates.Pass("measured at %d levels, tokens counted by %s", len(s.levels), s.workload.TokenSource), nil
	},
})
