package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.tensor_not_listed",
	Doc: "every tensor stored in a listed shard is listed\n\nEngines differ: those that follow the index drop it, those that read " +
		"whole shards load it. A stale index after a re-export shows first here.",
	Does:  whenUnknownTensor,
	Since: since, Cost: deep,
	Modes:  []string{"idx.tensor_not_listed"},
	Faults: []string{"unlisted"},
	Causes: []string{"the index is older than the shards", "a tool added tensors to a shard without the index"},
	Next:   []string{"rebuild or download the index", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x, f, ok := index(inv)
		if !ok {
			return f, nil
		}
		stored := storedNames(inv)
		if len(stored) == 0 {
			return noHeader(inv), nil
		}
		listed := make(map[string]bool, len(x.Entries()))
		for _, e := range x.Entries() {
			listed[e.Tensor] = true
		}
		var extra []string
		for _, s := range x.Shards() {
			for _, t := range tensorsOf(inv, s) {
				if !listed[t.Name] {
					extra = append(extra, t.Name)
				}
			}
		}
		if len(extra) > 0 {
			return with(gates.Warn("%s stored but not listed: %s", share(inv, extra, "tensor"), some(extra)), extra), nil
		}
		return gates.Pass("nothing is stored that is not listed%s", unread(inv, len(stored))), nil
	},
})

func tensorsOf(inv checkpoint.Inventory, shard string) []checkpoint.Tensor {
	h, _ := inv.Header(shard)
	return h.Tensors()
}
