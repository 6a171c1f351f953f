package hardware

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/device",
	Doc: `it is known on which device the engine computes

A record whose device is unknown cannot be compared. Some engines tell; for the others a person names it.`,
	Since:  "0.1.0",
	Cost:   50 * time.Millisecond,
	Modes:  []string{"OPS-05"},
	Faults: []string{"cpu-fallback"},
	Causes: []string{"the engine fell back to the processor without a word"},
	Next:   []string{"the server's log: which device did it open?"},
	Run: func(_ context.Context, s Subject) (gates.Finding, error) {
		told := ""
		if s.Unable(endpoint.Server) == "" {
			told = s.Build().Device
		}
		switch {
		case told != "" && s.Device != "" && told == "cpu" && s.Device != "cpu":
			return gates.Fail("the engine computes on %s, and %s was named", gates.Quote(told, 60), gates.Quote(s.Device, 60)), nil
		case told != "":
			return gates.Pass("the engine says: %s", told), nil
		case s.Device != "":
			return gates.Pass("named: %s; the engine does not tell", s.Device), nil
		}
		return gates.Skip("the engine does not tell, and none was named").Then("infbench … --device NAME, such as sm_90 or gfx942"), nil
	},
})
