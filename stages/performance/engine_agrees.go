package performance

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/record"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/engine-agrees",
	Doc: `the engine's own counter of output tokens moved by what clients were told

Usage that is counted twice, or per event, makes every rate wrong by the same factor; the engine's counter knows nothing of it. A counter
that moved by more can also mean that somebody else was using the server during the measurement.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"USG-02", "STR-05"},
	Faults: []string{"usage-double"},
	Causes: []string{"a gateway or parser counts tokens of its own", "other traffic on the server during the measurement"},
	Next:   []string{"the target past the gateway", "the same sweep while nobody else uses the server"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		if s.workload.TokenSource != record.EngineUsage {
			return gates.NotApply("the tokens were not counted by the engine"), nil
		}
		compared := 0
		for _, l := range s.levels {
			n, ok := l.engine.N()
			if !ok {
				continue
			}
			compared++
			if far(n, l.told, l.issued) {
				return gates.Warn("at %s clients were told of %d output tokens, and the engine's counter moved by %d", l.arrival, l.told, n), nil
			}
		}
		if compared == 0 {
			return gates.NotApply("the engine shows no counter of output tokens"), nil
		}
		return gates.Pass("equal within 2 %% at %d levels", compared), nil
	},
})

// far reports whether two counts differ by more than 2 % and a token a request: the
// end token is counted by one side and not by the other in some engines.
func far(engine, told, requests int) bool {
	diff := engine - told
	if diff < 0 {
		diff = -diff
	}
	return diff > 8+requests && diff*50 > max(engine, told)
}
