package performance

import (
	"context"
	"time"

	"infbench/gates"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/e2e",
	Doc: `end-to-end times were measured, and the harness was on time

A request that the harness starts late makes the server look quick in an open loop and hides a queue. The lag of every start is measured;
over its budget the level is void. More requests than the server can take have no steady state: such a level has no figures, and ends the sweep.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"OPS-11"},
	Faults: []string{"late-harness", "one-token"},
	Causes: []string{"the machine that measures is busy with something else", "more streams than this machine can serve"},
	Next:   []string{"run infbench on another machine than the server", "fewer sessions, or a lower rate"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		for i, l := range s.levels {
			if l.saturated != "" {
				if i == 0 {
					return gates.Warn("%s is more than the server can take: nothing below it was measured", l.arrival).With("%s", l.saturated).Then("a lower rate first, such as half of it"), nil
				}
				return gates.Pass("measured at %d levels; %s is more than the server can take", i, l.arrival), nil
			}
			if len(l.void) > 0 {
				f := gates.Warn("the figures of %s are void: %s", l.arrival, l.void[0])
				if len(l.failed) > 0 {
					f = f.Because("answers failed under this load: see performance/answers")
				}
				return f, nil
			}
			if l.good == 0 {
				return gates.Fail("no good answer at %s", l.arrival), nil
			}
		}
		return gates.Pass("measured at %d levels", len(s.levels)), nil
	},
})
