package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.no_index",
	Doc: "several shards come with an index\n\nWithout one transformers refuses the folder, while engines that read every file they find " +
		"cannot know whether one is missing.",
	Since: since, Cost: glance,
	Modes:  []string{"shard.no_index"},
	Faults: []string{"two-shards"},
	Causes: []string{"the index was not downloaded, or left out of an upload"},
	Next:   []string{"download the index (model.safetensors.index.json)", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() != checkpoint.Folder {
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		}
		needed := inv.Weights().Needed
		switch {
		case inv.Index().Listed():
			return gates.Pass("the index is %s", inv.Index().File()), nil
		case len(needed) == 0:
			return gates.NotApply("no shard is here yet"), nil
		case len(needed) == 1:
			return gates.Pass("one shard needs no index"), nil
		case slices.Contains(needed, checkpoint.DefaultShard):
			return gates.Pass("%s is whole by itself", checkpoint.DefaultShard), nil
		}
		return gates.Fail("%s and no index: %s", plural(len(needed), "shard"), some(needed)), nil
	},
})
