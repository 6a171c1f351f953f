package static

import (
	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// EXL3: a trellis between two sign vectors. Its own file lists every stored tensor:
// a second index.
var _ = addScheme(scheme{
	methods:  []string{"exl3"},
	declared: "quantization_config: bits, head_bits, codebook; quantization_config.json tensor_storage lists every stored tensor",
	variants: exl3Variants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: exl3Variants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	listed: func(all []checkpoint.Declaration) []string {
		var out []string
		for _, d := range all {
			d.Fields.Get("tensor_storage").ForEach(func(_, module gjson.Result) bool {
				module.Get("stored_tensors").ForEach(func(name, _ gjson.Result) bool {
					out = append(out, name.Str)
					return true
				})
				return true
			})
		}
		return out
	},
	marks: []string{"trellis"},
})

var exl3Variants = []variant{
	{name: "exl3", when: "always; bits may differ from layer to layer", marks: "trellis suh svh", parts: []part{
		{name: "trellis", types: "I16", shape: "[K/16, N/16, bits*16]"},
		{name: "suh|su", types: "F16 I16", shape: "[K] or [K/16]"},
		{name: "svh|sv", types: "F16 I16", shape: "[N] or [N/16]"},
		{name: "mcg", when: ifStored},
		{name: "mul1", when: ifStored},
	}},
}
