package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.size",
	Doc: "no shard goes on after its last tensor\n\nSurplus bytes mean that the header belongs to another file: readers refuse the shard " +
		"as not fully covered.",
	Since: since, Cost: deep,
	Modes:  []string{"shard.size"},
	Faults: []string{"surplus"},
	Does:   whenHeaderBroken,
	Causes: []string{"a shard overwritten in place by a shorter one", "bytes appended in transfer"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "files end with their last tensor", checkpoint.FlawSurplus), nil
	},
})
