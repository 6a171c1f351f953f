package static

import "infbench/stages/checkpoint"

// BitNet: ternary weights, four in a byte along the outputs.
var _ = addScheme(scheme{
	methods:  []string{"bitnet"},
	declared: "quantization_config: quantization_mode (online stores plain weights and packs none); exclusions in modules_to_not_convert",
	variants: bitnetVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		f := variantOf(bitnetVariants, "offline").form(d.Fields, nil)
		if d.Fields.Get("quantization_mode").Str == "online" {
			f = variantOf(bitnetVariants, "online").form(d.Fields, nil)
			f.plainAllowed = true
		}
		return rules{form: f, exclude: excluded(d, "modules_to_not_convert")}, ""
	},
})

var bitnetVariants = []variant{
	{name: "offline", when: "quantization_mode offline or none", parts: []part{
		{name: "weight", types: "U8", shape: "[N/4, K]"},
		{name: "weight_scale", types: scaleTypes, shape: "[1]"},
	}},
	{name: "online", when: "quantization_mode online", parts: []part{{name: "weight", types: scaleTypes}}},
}
