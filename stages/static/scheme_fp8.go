package static

import (
	"fmt"

	"infbench/stages/checkpoint"
)

// FP8 as DeepSeek, Qwen and MiniMax ship it: blocks with weight_scale_inv, which
// is a multiplier in spite of its name; or one scale per tensor.
var _ = addScheme(scheme{
	methods: []string{"fp8"},
	rules:   fp8Rules,
	marks:   []string{"weight_scale_inv", "weight_scale"},
})

func fp8Rules(d checkpoint.Declaration) (rules, string) {
	block := d.Fields.Get("weight_block_size").Array()
	r := rules{
		weight: "weight",
		marks:  []string{"weight_scale_inv", "weight_scale", "input_scale", "activation_scale"},
		dtypes: map[string][]checkpoint.DType{
			"weight": {"F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2"}, "input_scale": scaleTypes, "activation_scale": scaleTypes,
			"weight_scale": scaleTypes, "weight_scale_inv": {"F32", "BF16", "F16", "F8_E8M0", "U8"},
		},
		exclude: excluded(d, "modules_to_not_convert", "ignored_layers"),
	}
	switch {
	case d.Fields.Get("expert_dtype").Str == "fp4":
		return r, "experts packed in FP4 are not covered"
	case len(block) == 2 && block[0].Int() > 0 && block[1].Int() > 0:
		r.needs = [][]string{{"weight_scale_inv", "scale"}} // DeepSeek-V4 calls it scale
		r.shape = blockShape("weight_scale_inv", block[0].Int(), block[1].Int())
	case len(block) > 0:
		return r, fmt.Sprintf("weight_block_size %s is not covered", d.Fields.Get("weight_block_size").Raw)
	default:
		r.needs = [][]string{{"weight_scale", "weight_scale_inv"}}
		r.shape = scalarShape("weight_scale")
	}
	if d.Fields.Get("activation_scheme").Str == "static" {
		r.needs = append(r.needs, []string{"input_scale", "activation_scale"})
	}
	return r, ""
}

// scaleTypes are the dtypes that scales occur in.
var scaleTypes = []checkpoint.DType{"F32", "BF16", "F16"}

// blockShape wants one scale for each block of a weight [N, K].
func blockShape(scale string, n, k int64) func(func(string) []int64) string {
	return func(shape func(string) []int64) string {
		w, s := shape("weight"), squeeze(shape(scale))
		if len(w) < 2 || s == nil {
			return ""
		}
		want := append(append([]int64{}, w[:len(w)-2]...), cdiv(w[len(w)-2], n), cdiv(w[len(w)-1], k))
		return differ(scale, s, squeeze(want), w)
	}
}

// scalarShape wants one scale for a whole weight, or one for each row.
func scalarShape(scale string) func(func(string) []int64) string {
	return func(shape func(string) []int64) string {
		w, s := shape("weight"), shape(scale)
		if len(w) != 2 || s == nil || product(s) == 1 || product(s) == w[0] {
			return ""
		}
		return fmt.Sprintf("%s is %v, want one value or %d for a weight %v", scale, s, w[0], w)
	}
}
