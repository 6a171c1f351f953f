package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.parse",
	Doc: "every shard's header is one JSON object of tensors\n\nA header that readers refuse stops the load after the shards before it " +
		"were read, often minutes later.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.parse"},
	Faults: []string{"cut-json", "gguf-version", "no-offsets", "not-utf8", "trailing-text"},
	Does:   whenHeaderBroken,
	Causes: []string{"a shard damaged in transfer or written by a home-made tool"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "each can be understood", checkpoint.FlawSyntax, checkpoint.FlawTooDeep, checkpoint.FlawTrailing, checkpoint.FlawShape), nil
	},
})
