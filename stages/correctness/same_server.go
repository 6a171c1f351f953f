package correctness

import (
	"context"
	"time"

	"infbench/gates"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/same-server",
	Doc: `the server is the one that was opened: no restart, no other configuration

Verdicts and numbers about two processes are about nothing. Engines restart under load, and a rolling update changes the build between
two requests.`,
	Since:  "0.1.0",
	Cost:   time.Second,
	Modes:  []string{"OPS-04", "IDN-07"},
	Faults: []string{"restart"},
	Causes: []string{"the engine crashed and was restarted", "a rolling update, or several replicas behind one address"},
	Next:   []string{"the service manager's log", "pin one replica"},
	Late:   true,
	Run: func(ctx context.Context, ep Subject) (gates.Finding, error) {
		what, err := ep.Changed(ctx)
		switch {
		case err != nil:
			return gates.Finding{}, err
		case what != "":
			return gates.Fail("the server changed while it was being checked").With("%s", what), nil
		case ep.Build().Process == "":
			return gates.Pass("nothing that it tells has changed; it does not tell when it started"), nil
		}
		return gates.Pass("the same process throughout"), nil
	},
}, sizing{})
