package static

import (
	"context"
	"strconv"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.widths",
	Doc: "the weights around the attention have the widths that the configuration states\n\nA feed-forward block, a norm, a router or an embedding of another " +
		"size belongs to another model, or was cut or pruned without its configuration: loaders refuse it, or read it at the wrong stride.",
	Since: "0.2.0", Cost: deep,
	Modes:  []string{"arch.widths"},
	Faults: []string{"down-transposed", "other-intermediate", "norm-of-another-width", "expert-too-narrow", "embedding-too-narrow", "router-of-more-experts"},
	Does:   whenShapeWrong,
	Causes: []string{"config.json comes from another size of the model", "the model was pruned, and its configuration was not", "a conversion stored a weight transposed or flat"},
	Next:   []string{"compare hidden_size and intermediate_size with the shapes of the base model", again},
	Run:    archWidths,
})

// widthRules returns the shape that a weight inside a layer has, by its name without the
// layer, and of those beside the layers; 0 stands for a size that nothing states.
func widthRules(c checkpoint.Config) (layer, outer map[string][]int64) {
	hidden, _ := c.Hidden()
	inner, _ := c.Count("intermediate_size")
	narrow, _ := c.Count("moe_intermediate_size")
	experts, _ := c.Experts()
	layer = map[string][]int64{
		"mlp.gate.weight": {experts, hidden}, "mlp.router.weight": {experts, hidden}, "block_sparse_moe.gate.weight": {experts, hidden},
		"mlp.shared_expert_gate.weight": {1, hidden},
	}
	for _, n := range []string{"input", "post_attention", "pre_feedforward", "post_feedforward"} {
		layer[n+"_layernorm.weight"] = []int64{hidden}
	}
	for _, block := range []struct {
		gate, up, down string
		inner          int64
	}{
		{"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", inner},
		{"mlp.experts.*.gate_proj", "mlp.experts.*.up_proj", "mlp.experts.*.down_proj", narrow},
		{"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj", "mlp.shared_experts.down_proj", 0},
		{"mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj", 0},
		{"block_sparse_moe.experts.*.w1", "block_sparse_moe.experts.*.w3", "block_sparse_moe.experts.*.w2", inner},
	} {
		layer[block.gate+".weight"], layer[block.up+".weight"] = []int64{block.inner, hidden}, []int64{block.inner, hidden}
		layer[block.down+".weight"] = []int64{hidden, block.inner}
	}
	layer["mlp.gate_up_proj.weight"] = []int64{2 * inner, hidden}
	// How many rows an embedding needs is another check's question: padding is normal.
	return layer, map[string][]int64{"embed_tokens.weight": {0, hidden}, "norm.weight": {hidden}}
}

func archWidths(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	if len(inv.Headers()) == 0 {
		return noHeader(inv), nil
	}
	if known, _ := needsOf(c); known == nil || inv.Kind() == checkpoint.GGUFModel {
		return gates.NotApply("no rule for the widths of %s", gates.Quote(c.TextModelType(), 40)), nil
	}
	s, f, ok := decoderOf(inv, c)
	if !ok {
		return f, nil
	}
	layer, outer := widthRules(c)
	base := strings.TrimSuffix(s.Prefix, "layers")
	var bad []string
	looked := 0
	for _, m := range inv.Modules() {
		if !m.Has("weight") {
			continue
		}
		name := m.Tensor("weight")
		rest, inside := strings.CutPrefix(name, base)
		if !inside {
			continue
		}
		want, known := outer[rest]
		if pattern, _ := checkpoint.Generalise(rest); !known {
			want, known = layer[strings.TrimPrefix(pattern, "layers.*.")]
		}
		t, here := inv.Tensor(name)
		if !known || !here || !t.DType.Plain() && !strings.HasPrefix(string(t.DType), "F8_E4M3") && !strings.HasPrefix(string(t.DType), "F8_E5M2") {
			continue
		}
		if looked++; !fits(t.Shape, want) {
			bad = append(bad, name)
			if len(bad) == 1 {
				f = gates.Fail("%s is %v, the configuration demands %s", name, t.Shape, shapeText(want))
			}
		}
	}
	switch {
	case looked == 0:
		return gates.NotApply("no plain weight around the attention is among the headers"), nil
	case len(bad) > 0:
		return with(f, bad), nil
	}
	return gates.Pass("%s have the widths of the configuration", plural(looked, "weight")), nil
}

// fits reports whether a shape is the wanted one, 0 standing for any size.
func fits(shape, want []int64) bool {
	if len(shape) != len(want) {
		return false
	}
	for i, w := range want {
		if w > 0 && shape[i] != w {
			return false
		}
	}
	return true
}

func shapeText(want []int64) string {
	var b strings.Builder
	for _, w := range want {
		if w == 0 {
			b.WriteString(" any")
		} else {
			b.WriteString(" " + strconv.FormatInt(w, 10))
		}
	}
	return "[" + strings.TrimSpace(b.String()) + "]"
}
