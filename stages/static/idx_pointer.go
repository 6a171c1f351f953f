package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.pointer",
	Doc: "the index is the file itself, not a Git LFS pointer\n\nLarge indexes are kept in Git LFS; a clone without it leaves " +
		"a pointer, and engines see no sharded checkpoint at all.",
	Since: since, Cost: glance,
	Modes:  []string{"idx.pointer"},
	Faults: []string{"pointer"},
	Causes: []string{"the repository was cloned without Git LFS"},
	Next:   []string{"git lfs pull", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x := inv.Index()
		if list, n := x.Problems(checkpoint.FlawPointer); n > 0 {
			return gates.Fail("%s: %s", x.File(), list[0].Detail), nil
		}
		if !x.Listed() {
			return gates.NotApply("no index is here"), nil
		}
		return gates.Pass("%s is no pointer", x.File()), nil
	},
})
