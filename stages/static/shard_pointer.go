package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.pointer",
	Doc: "no Git LFS pointer stands among the shards\n\nA pointer read as a shard is \"header too large\" in every engine. " +
		"A clone without any weights is a state and can be judged by its metadata; pointers beside real shards, or when the question " +
		"is about serving, are a defect.",
	Since: since, Cost: glance,
	Modes:  []string{"shard.pointer"},
	Faults: []string{"beside-real-shards", "ready-to-serve"},
	Does:   whenHeaderBroken,
	Causes: []string{"git lfs pull stopped or fetched only some files", "the repository was cloned without Git LFS"},
	Next:   []string{"git lfs pull", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		w := inv.Weights()
		switch {
		case len(w.Needed) == 0:
			return gates.NotApply("no shard is here yet"), nil
		case len(w.Pointers) == 0:
			return gates.Pass("none of %s is a pointer", plural(len(w.Needed), "shard")), nil
		case len(w.Landed) == 0 && !inv.Serving():
			return gates.NotApply("%s: the weights have not landed yet", plural(len(w.Pointers), "Git LFS pointer")), nil
		}
		return gates.Fail("%d of %s are Git LFS pointers: %s", len(w.Pointers), plural(len(w.Needed), "shard"), some(w.Pointers)), nil
	},
})
