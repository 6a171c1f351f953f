package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.quantised_but_ignored",
	Doc: "no module that is declared plain stores tensors of the scheme\n\nScales stored for a head that the engine keeps plain crash the load, or are dropped: " +
		"the packed weight is then read as if it were plain.",
	Does:  whenUnknownTensor,
	Since: since, Cost: pass,
	Modes:   []string{"q.quantised_but_ignored"},
	Faults:  []string{"ct-ignored-layer", "fp8-not-converted"},
	Engines: []string{"vllm"},
	Causes:  []string{"the exclusions come from another recipe than the weights", "a pattern of the exclusions matches more than was meant"},
	Next:    []string{"remove the modules from the exclusions of the declaration", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		j, f, ok := judgeQuant(inv)
		if !ok {
			return f, nil
		}
		if len(j.ignored) > 0 {
			return with(gates.Fail("%s excluded and stored quantised: %s", share(inv, j.ignored, "module"), some(j.ignored)), j.ignored), nil
		}
		return j.pass("no excluded module stores a tensor of %s", gates.Quote(j.decl.Method, 40)), nil
	},
})
