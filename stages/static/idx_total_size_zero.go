package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.total_size_zero",
	Doc: "the total size that the index states is not zero\n\nSome exporters sum over tensors that are not there yet and write 0; " +
		"tools that plan memory by it plan for nothing.",
	Since: since, Cost: glance,
	Modes:  []string{"idx.total_size_zero"},
	Faults: []string{"zero"},
	Causes: []string{"the exporter summed sizes of tensors without storage", "a stub or hand-made index"},
	Next:   []string{"compare with the sizes of the shards: ls -l DIR", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		x, f, ok := index(inv)
		if !ok {
			return f, nil
		}
		switch t := x.TotalSize(); {
		case !t.Stated():
			return gates.NotApply("the index states no total size"), nil
		case t.Bytes == 0:
			return gates.Warn("metadata.total_size is 0 for %s", plural(len(x.Entries()), "tensor")), nil
		default:
			return gates.Pass("metadata.total_size is %s", gates.Printable(t.Text, 40)), nil
		}
	},
})
