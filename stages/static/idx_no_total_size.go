package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.no_total_size",
	Doc: "the total size, where the index states one, is a number of bytes\n\nAn index without it is usual and only recorded: " +
		"the size arithmetic then has nothing to compare with. A value that is no whole number breaks loaders that add it up.",
	Since: since, Cost: glance,
	Modes:  []string{"idx.no_total_size"},
	Faults: []string{"negative", "text"},
	Causes: []string{"an index written or edited by hand"},
	Next:   []string{"download the index again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x, f, ok := index(inv)
		if !ok {
			return f, nil
		}
		switch t := x.TotalSize(); {
		case !t.Stated():
			return gates.Pass("info: the index states no total size"), nil
		case t.Bytes < 0:
			return gates.Warn("metadata.total_size is %s, not a number of bytes", gates.Printable(t.Text, 40)), nil
		default:
			return gates.Pass("the index states %d bytes", t.Bytes), nil
		}
	},
})
