package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.size_vs_dtype",
	Doc: "the total size fits the dtype that the configuration declares\n\nWeights stored in 32 bits under a configuration that says bfloat16 take twice the disk, " +
		"time and, in some engines, memory that anyone planned for.",
	Since: since, Cost: pass,
	Modes:  []string{"idx.size_vs_dtype"},
	Faults: []string{"float32-stored"},
	Causes: []string{"a trainer saved its 32-bit master weights", "the index was copied from another precision"},
	Next:   []string{"convert the weights, or set torch_dtype to what is stored", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		z, f, ok := sizeUp(inv)
		if !ok {
			return f, nil
		}
		declared := inv.Config().DType()
		switch want := widthOf(declared); {
		case want == 0:
			return gates.NotApply("config.json declares no dtype"), nil
		case z.fit.width == 0:
			return gates.NotApply("the size fits no dtype: see static/idx.size_vs_config"), nil
		case z.fit.width != want:
			return gates.Warn("%s is declared, the total size is exact at %d bytes a value", gates.Quote(declared, 40), z.fit.width), nil
		}
		return gates.Pass("the total size is exact for %s", gates.Quote(declared, 40)), nil
	},
})
