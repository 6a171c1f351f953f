package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.bad_path",
	Doc: "every shard is a plain file name in the checkpoint's own folder\n\nAn index comes from a stranger; a shard named " +
		"../../x or C:x makes a loader read a file that is none of the checkpoint's.",
	Since: since, Cost: glance,
	Modes:  []string{"idx.bad_path"},
	Faults: []string{"absolute", "parent", "subfolder"},
	Causes: []string{"an index made for another folder layout", "a hostile checkpoint"},
	Next:   []string{"do not load this checkpoint before its index is explained"},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x, f, ok := index(inv)
		if !ok {
			return f, nil
		}
		var bad []string
		for _, s := range x.Shards() {
			if !checkpoint.PlainName(s) {
				bad = append(bad, gates.Quote(s, 80))
			}
		}
		if len(bad) > 0 {
			return gates.Fail("%s of %d leave the folder: %s", plural(len(bad), "shard name"), len(x.Shards()), some(bad)), nil
		}
		return gates.Pass("%s stay inside the folder", plural(len(x.Shards()), "shard name")), nil
	},
})
