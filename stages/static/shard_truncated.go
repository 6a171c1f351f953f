package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.truncated",
	Doc: "no shard ends before its last tensor\n\nA download that stopped leaves a shard whose header is whole. Readers that check refuse " +
		"it after the shards before it were loaded; memory-mapped ones read zeros past its end, without an error.",
	Since: since, Cost: deep,
	Modes:  []string{"shard.truncated"},
	Faults: []string{"cut-short", "gguf"},
	Does:   whenHeaderBroken,
	Causes: []string{"a download or upload that stopped", "a full disk"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "files are as long as their tensors", checkpoint.FlawTruncated), nil
	},
})
