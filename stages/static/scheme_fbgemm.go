package static

import "infbench/stages/checkpoint"

// FBGEMM FP8: one scale for each output, activations scaled as they come.
var _ = addScheme(scheme{
	methods:  []string{"fbgemm_fp8"},
	declared: "quantization_config: activation_scale_ub; exclusions in modules_to_not_convert",
	variants: fbgemmVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		stacked := variantOf(fbgemmVariants, "stacked experts").form(d.Fields, nil)
		return rules{
			form: variantOf(fbgemmVariants, "linear").form(d.Fields, nil),
			formOf: func(module string) *form {
				if lastWord(module) == "experts" {
					return &stacked
				}
				return nil
			},
			exclude: excluded(d, "modules_to_not_convert"),
		}, ""
	},
	marks: []string{"weight_scale", "gate_up_proj_scale", "down_proj_scale"},
})

var fbgemmVariants = []variant{
	{name: "linear", when: "every linear layer", parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes, shape: "[N, 1]"},
		{name: "input_scale_ub", types: scaleTypes, when: ifStored},
	}},
	{name: "stacked experts", when: "modules called `experts`", marks: "gate_up_proj_scale down_proj_scale", parts: []part{
		{name: "gate_up_proj", types: "F8_E4M3"},
		{name: "gate_up_proj_scale", types: scaleTypes},
		{name: "down_proj", types: "F8_E4M3"},
		{name: "down_proj_scale", types: scaleTypes},
	}},
}
