package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.hole",
	Doc: "no byte of a shard belongs to no tensor\n\nThe format requires that tensors cover the file: a hole can carry anything, " +
		"and readers refuse the shard as not fully covered.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.hole"},
	Faults: []string{"first-bytes", "gap", "gguf"},
	Does:   whenHeaderBroken,
	Causes: []string{"a tensor dropped from the header but not from the file", "offsets computed with another alignment"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "tensors follow each other without a gap", checkpoint.FlawHole), nil
	},
})
