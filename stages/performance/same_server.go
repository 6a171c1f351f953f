package performance

import (
	"context"
	"time"

	"infbench/gates"
)

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/same-server",
	Doc: `the server that was measured is the one that passed the gates

A restart or another configuration in between makes the verdicts and the numbers be about two different things: the numbers are dropped.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Late:   true,
	Modes:  []string{"OPS-04", "IDN-07"},
	Faults: []string{"restart"},
	Causes: []string{"the engine crashed under the load and was restarted", "several replicas behind one address"},
	Next:   []string{"the service manager's log", "pin one replica"},
	Run: func(ctx context.Context, s *Sweep) (gates.Finding, error) {
		what, err := s.ep.Changed(ctx)
		switch {
		case err != nil:
			return gates.Finding{}, err
		case what != "":
			s.changed = true
			return gates.Fail("the server changed during the measurement: its numbers are dropped").With("%s", what), nil
		}
		return gates.Pass("nothing that it tells has changed"), nil
	},
})
