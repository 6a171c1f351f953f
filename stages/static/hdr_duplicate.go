package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.duplicate",
	Doc: "no header names a tensor twice\n\nThe format forbids it, the reference reader keeps the last: " +
		"two readers can take different weights from one file.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.duplicate"},
	Faults: []string{"same-name-twice"},
	Causes: []string{"shards joined by hand", "a hostile file"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "no name occurs twice", checkpoint.FlawDuplicate), nil
	},
})
