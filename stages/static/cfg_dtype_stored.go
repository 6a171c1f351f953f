package static

import (
	"context"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.dtype_stored",
	Doc: "the weights are stored in the width that the configuration declares\n\nWeights of 32 bits under a configuration that says bfloat16 take " +
		"twice the disk and the time to load, and an engine that keeps them as they are takes twice the memory.",
	Since: since, Cost: deep,
	Modes:  []string{"cfg.dtype_stored"},
	Faults: []string{"float32-under-bfloat16", "half-under-float32"},
	Causes: []string{"a trainer saved its 32-bit master weights", "torch_dtype was copied from another export"},
	Next:   []string{"convert the weights, or set torch_dtype to what is stored", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		heads, f, ok := headers(inv)
		if !ok {
			return f, nil
		}
		declared := widthOf(c.DType())
		switch {
		case len(inv.Declarations()) > 0:
			return gates.NotApply("a quantised checkpoint stores what its scheme says"), nil
		case declared == 0:
			return gates.NotApply("config.json declares no dtype"), nil
		}
		values := map[checkpoint.DType]int64{}
		for _, h := range heads {
			for _, t := range h.Tensors() {
				if len(t.Shape) > 1 && t.DType.Plain() {
					values[t.DType] += volume(t.Shape)
				}
			}
		}
		most := checkpoint.DType("")
		for d, n := range values {
			if n > values[most] || n == values[most] && d < most {
				most = d
			}
		}
		bits, _ := most.Bits()
		name := gates.Quote(c.DType(), 40)
		switch {
		case most == "":
			return gates.NotApply("no plain weight is among the headers"), nil
		case int64(bits/8) != declared:
			return gates.Warn("%s is declared, most weights are stored as %s", name, most), nil
		case torchName[most] != strings.ReplaceAll(c.DType(), "half", "float16"):
			return gates.Pass("info: %s is declared, most weights are stored as %s of the same width", name, most), nil
		}
		return gates.Pass("%s is declared and stored", name), nil
	},
})

// torchName is what configurations call the stored dtypes.
var torchName = map[checkpoint.DType]string{"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}

// volume returns the number of values of a shape, bounded so that sums stay exact.
func volume(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		if s <= 0 || n > beyondAxis/s {
			return 0
		}
		n *= s
	}
	return n
}
