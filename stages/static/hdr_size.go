package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.size",
	Doc: "each tensor's offsets span what its dtype and shape take\n\nA wrong shape or dtype in a header is read as another matrix, " +
		"or refused after the shards before it were loaded.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.size"},
	Faults: []string{"end-before-begin", "overflow", "wrong-dtype"},
	Does:   whenHeaderBroken,
	Causes: []string{"a header rewritten after a change of dtype or shape"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "offsets fit dtype and shape", checkpoint.FlawSize), nil
	},
})
