package static

import "infbench/stages/checkpoint"

// QTIP: a trellis between two sign vectors.
var _ = addScheme(scheme{
	methods:  []string{"qtip"},
	declared: "quantization_config; no exclusions",
	variants: qtipVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: qtipVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	marks: []string{"trellis"},
})

var qtipVariants = []variant{
	{name: "qtip", when: "always", marks: "trellis SU SV", parts: []part{
		{name: "trellis"},
		{name: "SU"},
		{name: "SV"},
		{name: "rcp", when: ifStored},
		{name: "tp_rank", when: ifStored},
		{name: "tlut", when: ifStored},
	}},
}
