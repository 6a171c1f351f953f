package static

import "infbench/stages/checkpoint"

// HIGGS: indices into a grid behind a Hadamard transform.
var _ = addScheme(scheme{
	methods:  []string{"higgs"},
	declared: "quantization_config: bits, p, group_size, hadamard_size; exclusions in modules_to_not_convert",
	variants: higgsVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: higgsVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	marks: []string{"tables2"},
})

var higgsVariants = []variant{
	{name: "higgs", when: "always", marks: "scales tables tables2", parts: []part{
		{name: "weight", types: "I16 U8 I8 I32"},
		{name: "scales", types: scaleTypes},
		{name: "tables"},
		{name: "tables2"},
	}},
}
