package static

import (
	"context"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.extra",
	Doc: "no file outside the index stores tensors of the index\n\nOther safetensors files in the folder are usual (adapters, a vendor's own " +
		"layout) and only recorded. One that holds the same tensors again is a leftover of another export: engines that read every " +
		"*.safetensors file take whichever comes last.",
	Does:  whenShardUnlisted,
	Since: since, Cost: deep,
	Modes:  []string{"shard.extra"},
	Faults: []string{"second-copy"},
	Causes: []string{"shards of an earlier export were left in the folder"},
	Next:   []string{"move the files that the index does not name out of the folder", again},
	Run:    shardExtra,
})

func shardExtra(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	x, f, ok := index(inv)
	if !ok {
		return f, nil
	}
	var extra, twice []string
	home := make(map[string]string, len(x.Entries()))
	for _, e := range x.Entries() {
		home[e.Tensor] = e.Shard
	}
	needed := inv.Weights().Needed
	for _, file := range inv.Files() {
		if !strings.HasSuffix(file.Name(), checkpoint.ShardSuffix) || slices.Contains(needed, file.Name()) {
			continue
		}
		extra = append(extra, file.Name())
		for _, t := range tensorsOf(inv, file.Name()) {
			if shard, listed := home[t.Name]; listed {
				twice = append(twice, t.Name+" ("+shard+" and "+file.Name()+")")
			}
		}
	}
	switch {
	case len(twice) > 0:
		return gates.Warn("%s also in a file that the index does not name: %s", plural(len(twice), "tensor"), gates.Printable(some(twice), 300)), nil
	case len(extra) > 0:
		return gates.Pass("info: %s beside the index: %s", plural(len(extra), "file"), gates.Printable(some(extra), 200)), nil
	}
	return gates.Pass("every shard here is named by the index"), nil
}
