package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.dtype",
	Doc: "each dtype is one that the container knows\n\nReaders refuse the whole shard over one unknown dtype; new ones need a reader " +
		"at least as new as the writer.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.dtype"},
	Faults: []string{"gguf-type", "unknown-dtype"},
	Does:   whenHeaderBroken,
	Causes: []string{"the shard was written by a newer or a home-made writer"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "dtypes are known", checkpoint.FlawDtype), nil
	},
})
