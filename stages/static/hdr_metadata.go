package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.metadata",
	Doc: "a shard's __metadata__ maps text to text\n\nThe reference reader refuses numbers in it, and so the whole shard; " +
		"absent, null and empty are legal.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.metadata"},
	Faults: []string{"number"},
	Does:   whenHeaderBroken,
	Causes: []string{"a home-made writer that put numbers into the metadata"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		return judgeHeaders(inv, "__metadata__ is text to text or absent", checkpoint.FlawMetadata), nil
	},
})
