package static

import (
	"fmt"
	"strings"

	"infbench/stages/checkpoint"
)

// FP8 as DeepSeek, Qwen and MiniMax ship it: blocks with weight_scale_inv, which
// is a multiplier in spite of its name; or one scale per tensor.
var _ = addScheme(scheme{
	methods:  []string{"fp8", "deepseek_v4_fp8"},
	declared: "quantization_config: weight_block_size, activation_scheme, expert_dtype; exclusions in modules_to_not_convert or ignored_layers",
	variants: fp8Variants,
	rules:    fp8Rules,
	marks:    []string{"weight_scale_inv", "weight_scale", "gate_up_proj_scale_inv", "down_proj_scale_inv"},
})

const (
	fp8Types     = "F8_E4M3 F8_E4M3FNUZ F8_E5M2"
	perTensor    = "[] or [N]" // or one for each row
	staticScales = "input_scale|activation_scale"
	fp8Marks     = "weight_scale_inv weight_scale input_scale activation_scale"
)

var staticActivations = whenIs("activation_scheme", "static")

var fp8Variants = []variant{
	{name: "block", when: "weight_block_size [bn, bk]; DeepSeek-V4 calls the scale `scale`", marks: fp8Marks, parts: []part{
		{name: "weight", types: fp8Types, shape: "[N, K]"},
		{name: "weight_scale_inv|scale|weight_scale", types: scaleTypes + " " + e8m0, shape: "[N/bn, K/bk]"},
		{name: staticScales, types: scaleTypes, when: staticActivations},
	}},
	{name: "per tensor", when: "no weight_block_size", marks: fp8Marks, parts: []part{
		{name: "weight", types: fp8Types, shape: "[N, K]"},
		{name: "weight_scale|weight_scale_inv", types: scaleTypes, shape: perTensor},
		{name: staticScales, types: scaleTypes, when: staticActivations},
	}},
	{name: "FP4 experts", when: "expert_dtype fp4, modules below `experts` (DeepSeek-V4)", marks: fp8Marks + " scale", parts: []part{
		{name: "weight", types: "U8 I8 F4"},
		{name: "scale|weight_scale_inv|weight_scale", types: scaleTypes + " " + e8m0},
	}},
	{
		name: "stacked experts", when: "modules called `experts` that hold all experts in one tensor for each projection", marks: "gate_up_proj_scale_inv down_proj_scale_inv",
		parts: []part{
			{name: "gate_up_proj", types: fp8Types},
			{name: "gate_up_proj_scale_inv|gate_up_proj_scale", types: scaleTypes + " " + e8m0},
			{name: "down_proj", types: fp8Types},
			{name: "down_proj_scale_inv|down_proj_scale", types: scaleTypes + " " + e8m0},
		},
	},
}

func fp8Rules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "modules_to_not_convert", "ignored_layers")}
	switch block := d.Fields.Get("weight_block_size").Array(); {
	case len(block) == 2 && block[0].Int() > 0 && block[1].Int() > 0:
		r.form = variantOf(fp8Variants, "block").form(d.Fields, letters{"bn": block[0].Int(), "bk": block[1].Int()})
	case len(block) > 0:
		return r, fmt.Sprintf("weight_block_size %s is not covered", d.Fields.Get("weight_block_size").Raw)
	default:
		r.form = variantOf(fp8Variants, "per tensor").form(d.Fields, nil)
	}
	stacked := variantOf(fp8Variants, "stacked experts").form(d.Fields, nil)
	fp4 := variantOf(fp8Variants, "FP4 experts").form(d.Fields, nil)
	hasFP4 := d.Fields.Get("expert_dtype").Str == "fp4"
	r.formOf = func(module string) *form {
		switch {
		case lastWord(module) == "experts":
			return &stacked
		case hasFP4 && strings.Contains(module, ".experts."):
			return &fp4
		}
		return nil
	}
	return r, ""
}
