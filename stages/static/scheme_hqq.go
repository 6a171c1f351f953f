package static

import "infbench/stages/checkpoint"

// HQQ: packed weights beside scale and zero, and small tensors of state.
var _ = addScheme(scheme{
	methods:  []string{"hqq"},
	declared: "quantization_config: weight_quant_params; exclusions in skip_modules",
	variants: hqqVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: hqqVariants[0].form(d.Fields, nil), exclude: excluded(d, "skip_modules")}, ""
	},
	marks: []string{"W_q"},
})

var hqqVariants = []variant{
	{name: "hqq", when: "always", marks: "W_q zero", parts: []part{
		{name: "W_q", types: "U8 I8 I32 F16 BF16"},
		{name: "scale"},
		{name: "zero"},
	}},
}
