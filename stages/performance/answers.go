package performance

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/record"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/answers",
	Doc: `every measured request got a whole and sane answer

The speed of garbage is no speed. Each answer under load is judged like those of the gates: an error inside the stream, a cut end, an
empty or degenerate text or another request's code voids its level. Requests that a full server turns away are counted and warned of.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"CON-01", "CON-04", "CON-05", "OPS-11", "OPS-12", "STR-03", "STR-08"},
	Faults: []string{"one-token", "cut", "sse-error", "salad-above-1", "crosstalk", "reject-above-1", "http500"},
	Causes: []string{"a fault that shows only under this load", "the server is at its limit"},
	Next:   []string{"infbench stage3 --target URL", "a lower level of the sweep"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		issued, rejected, cancelled := 0, 0, 0
		for _, l := range s.levels {
			issued += l.issued
			rejected += l.failed[record.Rejected]
			cancelled += l.failed[record.Cancelled]
			for o, n := range l.failed {
				if o != record.Rejected && o != record.Cancelled && n > 0 {
					return gates.Fail("%d of %d answers at %s were %s", n, l.issued, l.arrival, o).With("%s", l.example), nil
				}
			}
		}
		switch {
		case s.stopped != "" && cancelled == 0 && s.stopped != "interrupted":
			return gates.Fail("the sweep ended after %d of %d levels: %s", len(s.levels), s.planned, s.stopped), nil
		case s.stopped != "":
			return gates.Skip("the sweep was stopped after %d of %d levels", len(s.levels), s.planned), nil
		case rejected > 0:
			return gates.Warn("%d of %d requests were turned away", rejected, issued), nil
		}
		return gates.Pass("%d of %d answers whole and sane, over %d levels", issued, issued, len(s.levels)), nil
	},
})
