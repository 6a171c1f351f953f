package static

import "infbench/stages/checkpoint"

// EXL2: groups of several widths in one tensor.
var _ = addScheme(scheme{
	methods:  []string{"exl2"},
	declared: "quantization_config: bits, head_bits; no exclusions",
	variants: exl2Variants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: exl2Variants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	marks: []string{"q_scale_max"},
})

var exl2Variants = []variant{
	{name: "exl2", when: "always", parts: []part{
		{name: "q_weight", types: "I32"},
		{name: "q_invperm|q_perm", types: "I16"},
		{name: "q_scale", types: "I32"},
		{name: "q_scale_max", types: "F16"},
		{name: "q_groups", types: "I16"},
	}},
}
