package static

import "infbench/stages/checkpoint"

// EETQ: eight-bit weights, transposed, with one scale for each output.
var _ = addScheme(scheme{
	methods:  []string{"eetq"},
	declared: "quantization_config; exclusions in modules_to_not_convert",
	variants: eetqVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: eetqVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	marks: []string{"weight_scales"},
})

var eetqVariants = []variant{
	{name: "eetq", when: "always", marks: "weight_scales", parts: []part{
		{name: "weight", types: "I8", shape: "[K, N]"},
		{name: "weight_scales", types: scaleTypes, shape: "[N]"},
	}},
}
