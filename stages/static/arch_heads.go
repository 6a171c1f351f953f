package static

import (
	"context"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.heads",
	Doc: "the attention projections have the rows and columns that the head counts demand\n\nA public 8B fine-tune describes key and value weights for " +
		"32 heads while config.json says 8: loaders refuse it, or read a quarter of each matrix.",
	Since: since, Cost: deep,
	Modes:  []string{"arch.heads"},
	Faults: []string{"kv-rows", "o-columns", "q-rows"},
	Does:   whenShapeWrong,
	Causes: []string{"a merge or conversion repeated the key and value heads", "config.json comes from another size of the model"},
	Next:   []string{"compare num_attention_heads, num_key_value_heads and head_dim with the base model", again},
	Run:    archHeads,
})

func archHeads(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	if len(inv.Headers()) == 0 {
		return noHeader(inv), nil
	}
	if list := inv.Declarations(); len(list) > 0 && list[0].Method == "eetq" {
		return gates.NotApply("EETQ stores its weights transposed"), nil
	}
	d, fam := familyOf(c)
	if fam == nil {
		return gates.NotApply("no rule for the heads of %s", gates.Quote(c.TextModelType(), 40)), nil
	}
	var bad []string
	looked := 0
	for _, m := range inv.Modules() {
		name := m.Tensor("weight")
		want, known := fam.shape(d, name)
		if !known || !strings.Contains(name, "attn.") || !m.Has("weight") {
			continue
		}
		t, here := inv.Tensor(name)
		if !here || len(t.Shape) != len(want) || packed(t.DType) {
			continue
		}
		if looked++; !slices.Equal(t.Shape, want) {
			bad = append(bad, name)
			if len(bad) == 1 {
				f = gates.Fail("%s is %v, %d heads and %d key-value heads of %d demand %v", name, t.Shape, d.heads, d.kv, d.headDim, want)
			}
		}
	}
	switch {
	case looked == 0:
		return gates.NotApply("no plain attention weight is among the headers"), nil
	case len(bad) > 0:
		return with(f, bad), nil
	}
	return gates.Pass("%s fit %d heads and %d key-value heads of %d", plural(looked, "attention weight"), d.heads, d.kv, d.headDim), nil
}

// packed reports whether a dtype may hold several weights in one value, so that a
// shape is none of the layer's.
func packed(d checkpoint.DType) bool {
	return !d.Plain() && !strings.HasPrefix(string(d), "F8") && d != "I8"
}
