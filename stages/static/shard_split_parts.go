package static

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.split_parts",
	Doc: "no shard lies there in pieces\n\nHosts with a limit on file sizes get shards cut by split(1) as X.safetensors.part-aa and so on; " +
		"no engine joins them.",
	Does:  whenShardMissing,
	Since: since, Cost: glance,
	Modes:  []string{"shard.split_parts"},
	Faults: []string{"pieces"},
	Causes: []string{"the shards were cut for an upload and not joined after the download"},
	Next:   []string{"cat SHARD.part* > SHARD", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() != checkpoint.Folder {
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		}
		pieces := map[string]int{}
		for _, file := range inv.Files() {
			if m := pieceName.FindStringSubmatch(file.Name()); m != nil {
				if _, whole := inv.File(m[1]); !whole {
					pieces[m[1]]++
				}
			}
		}
		if len(pieces) == 0 {
			return gates.Pass("no shard is in pieces"), nil
		}
		names := slices.Sorted(maps.Keys(pieces))
		return gates.Fail("%s only in pieces: %s, in %d", plural(len(names), "shard"), some(names), pieces[names[0]]), nil
	},
})

var pieceName = regexp.MustCompile(`^(.+\.safetensors)[._-]?part[._-]?[0-9a-z]+$`)
