package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.empty",
	Doc: "the index lists tensors\n\nAn export that crashed before its first shard leaves an index of nothing: " +
		"every weight would be whatever the memory held.",
	Since: since, Cost: glance,
	Modes:  []string{"idx.empty"},
	Faults: []string{"no-entries"},
	Causes: []string{"the export stopped before it wrote a shard"},
	Next:   []string{"export or download the checkpoint again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x, f, ok := index(inv)
		if !ok {
			return f, nil
		}
		if len(x.Entries()) == 0 {
			return gates.Fail("%s has a weight_map without entries", x.File()), nil
		}
		return gates.Pass("%s listed", plural(len(x.Entries()), "tensor")), nil
	},
})
