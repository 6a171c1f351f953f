package static

import (
	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// Quanto: the fields of a tensor subclass under the weight's own name. Its own file
// maps each quantised module to its types.
var _ = addScheme(scheme{
	methods:  []string{"quanto"},
	declared: "quanto_qmap.json (module to the types of weights and activations), or quantization_config with modules_to_not_convert",
	variants: quantoVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		r := rules{form: quantoVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}
		own := map[string]bool{}
		d.Fields.ForEach(func(k, v gjson.Result) bool {
			if v.Get("weights").Exists() && v.Get("weights").Str != "none" {
				own[k.Str] = true
			}
			return true
		})
		if len(own) > 0 {
			r.include = func(module string) bool { return own[module] }
		}
		return r, ""
	},
	marks: []string{"weight._data", "weight._scale"},
})

var quantoVariants = []variant{
	{name: "quanto", when: "always", marks: "weight._data weight._scale weight._shift", parts: []part{
		{name: "weight._data|weight._data._data", types: "I8 U8 I32 F8_E4M3 F8_E5M2"},
		{name: "weight._scale", types: scaleTypes},
		{name: "weight._shift", when: ifStored},
		{name: "input_scale", when: ifStored},
		{name: "output_scale", when: ifStored},
	}},
}
