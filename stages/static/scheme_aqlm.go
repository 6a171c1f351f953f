package static

import "infbench/stages/checkpoint"

// AQLM: codes into additive codebooks.
var _ = addScheme(scheme{
	methods:  []string{"aqlm"},
	declared: "quantization_config: nbits_per_codebook, num_codebooks, in_group_size (ig), out_group_size (og); exclusions in linear_weights_not_to_quantize",
	variants: aqlmVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		known := letters{}
		for letter, field := range map[string]string{"ig": "in_group_size", "og": "out_group_size", "C": "num_codebooks"} {
			if n := d.Fields.Get(field).Int(); n > 0 {
				known[letter] = n
			}
		}
		if bits := d.Fields.Get("nbits_per_codebook").Int(); bits > 0 && bits <= 16 {
			known["S"] = 1 << bits
		}
		return rules{form: aqlmVariants[0].form(d.Fields, known), exclude: excluded(d, "linear_weights_not_to_quantize")}, ""
	},
})

var aqlmVariants = []variant{
	{name: "aqlm", when: "always; C codebooks of S entries", parts: []part{
		{name: "codes", types: "I8 I16 I32 U8", shape: "[N/og, K/ig, C]"},
		{name: "codebooks", types: scaleTypes, shape: "[C, S, og, ig]"},
		{name: "scales", types: scaleTypes, shape: "[N/og, 1, 1, 1]"},
	}},
}
