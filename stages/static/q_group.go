package static

import (
	"context"
	"fmt"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.group",
	Doc: "widths are whole multiples of the group and of the packed word\n\nA row that ends inside a group fits no kernel: engines stop after " +
		"loading has begun, or when the layer is split over devices (vLLM 1258, 13640).",
	Since: since, Cost: deep,
	Modes:  []string{"q.group"},
	Faults: []string{"awq-odd-width", "gptq-odd-width"},
	Causes: []string{"the group size does not suit the model's widths", "the layer should have been excluded"},
	Next:   []string{"quantise again with a group size that divides the widths, or exclude these layers", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeParts(inv, "widths divide", func(j judgement, m checkpoint.Module) string {
			form := j.rules.of(m.Name)
			known := form.bound(func(part string) []int64 {
				t, _ := inv.Tensor(m.Tensor(part))
				return t.Shape
			})
			return indivisible(known, form, ranks)
		}), nil
	},
})

// ranks is over how many devices a layer is split: one, as long as nobody says.
const ranks = 1

// indivisible returns which width does not divide, "" when all do. A group must lie
// whole on one device, and so must a packed word.
func indivisible(known letters, f *form, ranks int64) string {
	unit := known["g"]
	if unit <= 0 {
		return ""
	}
	if k := known["K"]; k > 0 && unit < k && k%(unit*ranks) != 0 {
		return fmt.Sprintf("%d inputs are no multiple of groups of %d", k, unit)
	}
	bits, n := known["bits"], known["N"]
	if packsOutputs(f) && bits > 0 && n > 0 && n*bits%(32*ranks) != 0 {
		return fmt.Sprintf("%d outputs of %d bits fill no whole number of words", n, bits)
	}
	return ""
}

// packsOutputs reports whether a form packs several outputs into one word.
func packsOutputs(f *form) bool {
	for _, p := range f.parts {
		if strings.Contains(p.shape, "N*bits/32") {
			return true
		}
	}
	return false
}
