package performance

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/record"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/engine-agrees",
	Doc: `the engine's own counters and timers agree with what clients saw

Usage that is counted twice, or per event, makes every rate wrong by the same factor; the engine's counters know nothing of it. A client sees
a token later than the engine made it and never earlier, so an engine's time that is longer than the client's is a wrong clock or a role
chunk taken for a token. Other traffic on the server shows as requests that nobody sent here. Each voids its level (docs/TRUE-THROUGHPUT.md).`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"USG-02", "STR-05"},
	Faults: []string{"usage-double"},
	Causes: []string{"a gateway or parser counts tokens of its own", "other traffic on the server during the measurement"},
	Next:   []string{"the target past the gateway", "the same sweep while nobody else uses the server"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		compared, agreed, why := 0, 0, ""
		for _, l := range s.levels {
			some := false
			for _, c := range l.agreement {
				switch c.Accord {
				case record.Disagrees:
					return gates.Warn("at %s client and engine disagree about %s: %s", l.arrival, c.What, c.Words), nil
				case record.Agrees:
					agreed++
					some = true
				case record.Apart:
					some = true
				default:
					why = c.Words
				}
			}
			if some {
				compared++
			}
		}
		if compared == 0 {
			return gates.NotApply("nothing could be compared: %s", why), nil
		}
		return gates.Pass("%d comparisons agree at %d levels", agreed, compared), nil
	},
})
