package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.overlap",
	Doc: "no byte of a shard belongs to two tensors\n\nSharing storage between tied weights is what writers did before it was refused; " +
		"readers that check coverage refuse the shard, memory-mapped ones serve the wrong values.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.overlap"},
	Faults: []string{"shared-bytes"},
	Does:   whenHeaderBroken,
	Causes: []string{"tied tensors saved with shared storage", "offsets written wrongly"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "no two tensors share bytes", checkpoint.FlawOverlap), nil
	},
})
