package static

import "infbench/stages/checkpoint"

// QuIP#: indices into a lattice codebook between two sign vectors.
var _ = addScheme(scheme{
	methods:  []string{"quip", "quip#"},
	declared: "quantization_config; no exclusions",
	variants: quipVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: quipVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	marks: []string{"Qidxs"},
})

var quipVariants = []variant{
	{name: "quip", when: "always", marks: "Qidxs SU SV", parts: []part{
		{name: "Qidxs"},
		{name: "SU"},
		{name: "SV"},
		{name: "Wscale", when: ifStored},
		{name: "codebook_id", when: ifStored},
	}},
}
