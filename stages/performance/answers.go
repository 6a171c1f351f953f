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
empty or degenerate text, another request's code, or more tokens than could be made voids its level. Each prompt asks for a code: where the
model gives it back alone, most answers under load must hold it too. Requests that a full server turns away are counted and warned of.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"CON-01", "CON-04", "CON-05", "OPS-11", "OPS-12", "STR-03", "STR-08"},
	Faults: []string{"wrong-words", "usage-lies", "some-wrong", "one-token", "cut", "sse-error", "salad-above-1", "crosstalk", "reject-above-1", "http500"},
	Causes: []string{"a fault that shows only under this load", "the server is at its limit"},
	Next:   []string{"infbench stage3 --target URL", "a lower level of the sweep"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		issued, rejected, cancelled, good, held := 0, 0, 0, 0, 0
		for _, l := range s.everything() {
			issued += l.issued
			rejected += l.failed[record.Rejected]
			cancelled += l.failed[record.Cancelled]
			good += l.good
			held += l.held
			if l.lostCodes(s.able) {
				return gates.Fail("only %d of %d answers at %s hold the code that they were asked for; alone, every one did", l.held, l.good, l.arrival), nil
			}
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
		if s.able && good >= 4 && (good-held)*20 > good {
			return gates.Warn("%d of %d answers lack the code that they were asked for; alone, every one held it", good-held, good), nil
		}
		return gates.Pass("%d of %d answers whole and sane, over %d levels", issued, issued, len(s.levels)), nil
	},
})
