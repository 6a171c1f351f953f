package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.parse",
	Doc: "the index is one JSON object that maps each tensor to one shard\n\nA committed merge conflict was seen in a public " +
		"176B checkpoint: a second document follows the first. Names listed twice survive decoders, which keep the last.",
	Since: since, Cost: pass,
	Modes:  []string{"idx.parse"},
	Faults: []string{"cut-off", "listed-twice", "no-weight-map", "second-document", "shard-not-text"},
	Causes: []string{"an unresolved version-control merge", "a download that stopped", "an index joined or edited by hand"},
	Next:   []string{"download the index again from the same revision", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x := inv.Index()
		if _, n := x.Problems(checkpoint.FlawPointer); n > 0 {
			return gates.NotApply("the index is a Git LFS pointer: see static/idx.pointer"), nil
		}
		list, n := x.Problems(unreadable...)
		if n == 0 {
			if _, f, ok := index(inv); !ok {
				return f, nil
			}
			return gates.Pass("%s lists %s in %s", x.File(), plural(len(x.Entries()), "tensor"), plural(len(x.Shards()), "shard")), nil
		}
		f := gates.Fail("%s: %s", x.File(), list[0])
		if n > 1 {
			f = gates.Fail("%s has %d problems: %s", x.File(), n, list[0])
		}
		for _, p := range list {
			f = f.With("%s", p)
		}
		return f, nil
	},
})
