package static

import "infbench/stages/checkpoint"

// MXFP8: eight-bit floats with one exponent for 32 of them.
var _ = addScheme(scheme{
	methods:  []string{"mxfp8"},
	declared: "quantization_config; exclusions in modules_to_not_convert, ignored_layers or ignore",
	variants: mxfp8Variants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{
			form:    mxfp8Variants[0].form(d.Fields, nil),
			exclude: excluded(d, "modules_to_not_convert", "ignored_layers", "ignore"),
		}, ""
	},
	marks: []string{"weight_scale", "weight_scale_inv"},
})

var mxfp8Variants = []variant{
	{name: "mxfp8", when: "always", parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale|weight_scale_inv", types: e8m0, shape: "[N, K/32]"},
	}},
}
