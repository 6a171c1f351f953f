package performance

import (
	"context"
	"time"

	"infbench/gates"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/ttft",
	Doc: `TTFT was measured at every level, at the read that brought the first token

A role chunk, a comment or the response's head is no token. Where something in between buffers the stream, the first token comes with the
last, and a time to it means nothing.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"STR-02", "STR-10", "STR-11"},
	Faults: []string{"buffered", "one-token"},
	Causes: []string{"a proxy in between buffers the stream"},
	Next:   []string{"the target past the proxy"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		for _, l := range s.levels {
			switch {
			case l.good == 0:
				return gates.Fail("no good answer at %s", l.arrival).With("%s", l.example), nil
			case l.buffered*2 > l.good:
				return gates.Fail("%d of %d answers at %s came in one piece: TTFT means nothing here", l.buffered, l.good, l.arrival), nil
			}
		}
		return gates.Pass("measured at %d of %d levels", len(s.levels), s.planned), nil
	},
})
