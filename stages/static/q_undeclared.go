package static

import (
	"context"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.undeclared",
	Doc: "quantised tensors come with a declaration\n\nScales without a declaration are ignored: one report measured weights wrong by a factor of 700, " +
		"without any message.",
	Does:  whenUnknownTensor,
	Since: since, Cost: pass,
	Modes:  []string{"q.undeclared"},
	Faults: []string{"fp8-dtype", "mlx-offsets", "scales-stored"},
	Causes: []string{"quantization_config was lost when config.json was saved again", "the config.json of the unquantised model was copied over"},
	Next:   []string{"restore quantization_config from the export", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		if d := inv.Declarations(); len(d) > 0 {
			return gates.NotApply("%s declares %s", d[0].Where, gates.Quote(d[0].Method, 40)), nil
		}
		if _, f, ok := tensorNames(inv); !ok {
			return f, nil
		}
		var bad []string
		for _, m := range inv.Modules() {
			if slices.ContainsFunc(m.Parts, isMark) || m.Has("scales") && m.Has("biases") || packedWeight(inv, m) {
				bad = append(bad, m.Name)
			}
		}
		if len(bad) > 0 {
			return with(gates.Fail("%s store quantised tensors and %s declares none: %s", share(inv, bad, "module"), c.Name(), some(bad)), bad), nil
		}
		return gates.Pass("no tensor looks quantised"), nil
	},
})

// isMark reports whether some scheme takes a part as its own.
func isMark(part string) bool {
	return slices.ContainsFunc(schemes, func(s *scheme) bool { return slices.Contains(s.marks, part) })
}

// packedWeight reports whether the header shows a weight in a dtype that no
// unquantised model has.
func packedWeight(inv checkpoint.Inventory, m checkpoint.Module) bool {
	if !m.Has("weight") {
		return false
	}
	t, here := inv.Tensor(m.Tensor("weight"))
	return here && len(t.Shape) > 1 && (strings.HasPrefix(string(t.DType), "F8") || t.DType == "U8" || t.DType == "U32" || t.DType == "I8" || t.DType == "F4")
}
