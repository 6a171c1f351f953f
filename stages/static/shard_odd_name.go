package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.odd_name",
	Doc: "a shard without an index is called model.safetensors\n\nEngines look for that name or for model*.safetensors; a file named otherwise, " +
		"as older GPTQ tools wrote it, is found by some and not by others.",
	Since: since, Cost: glance,
	Modes:  []string{"shard.odd_name"},
	Faults: []string{"gptq-name"},
	Causes: []string{"an older quantiser named the file after its method"},
	Next:   []string{"rename or link the file to model.safetensors", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		needed := inv.Weights().Needed
		switch {
		case inv.Kind() != checkpoint.Folder:
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		case inv.Index().Listed():
			return gates.NotApply("the index names the shards"), nil
		case len(needed) != 1:
			return gates.NotApply("there is no single shard"), nil
		case needed[0] != checkpoint.DefaultShard:
			return gates.Warn("the only shard is called %s", gates.Quote(needed[0], 80)), nil
		}
		return gates.Pass("the only shard is called %s", checkpoint.DefaultShard), nil
	},
})
