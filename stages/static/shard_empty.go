package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.empty",
	Doc: "no shard is an empty file\n\nA public 7B checkpoint consists of seven shards of zero bytes: names and index are right, " +
		"nothing is in them.",
	Since: since, Cost: glance,
	Modes:  []string{"shard.empty"},
	Faults: []string{"zero-bytes"},
	Does:   whenHeaderBroken,
	Causes: []string{"an upload or download that created the files and stopped", "a full disk"},
	Next:   []string{"download the shards again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		w := inv.Weights()
		if len(w.Landed) == 0 {
			return noHeader(inv), nil
		}
		var void []string
		for _, n := range w.Landed {
			f, _ := inv.File(n)
			if size, known := f.Size(); known && size == 0 {
				void = append(void, n)
			}
		}
		if len(void) > 0 {
			return gates.Fail("%d of %s are empty: %s", len(void), plural(len(w.Needed), "shard"), some(void)), nil
		}
		return gates.Pass("none of %s is empty", plural(len(w.Landed), "shard")), nil
	},
})
