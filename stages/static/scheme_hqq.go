package static

import (
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// HQQ: packed weights beside scale and zero, and small tensors of state.
var _ = addScheme(scheme{
	methods:  []string{"hqq"},
	declared: "quantization_config: quant_config with weight_quant_params, or with the names of those layers that are quantised; exclusions in skip_modules",
	variants: hqqVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		r := rules{form: hqqVariants[0].form(d.Fields, nil), exclude: excluded(d, "skip_modules")}
		var tails []string
		d.Fields.Get("quant_config").ForEach(func(k, v gjson.Result) bool {
			if k.Str != "weight_quant_params" && v.Get("weight_quant_params").Exists() {
				tails = append(tails, "."+k.Str)
			}
			return true
		})
		if tails != nil {
			r.include = func(module string) bool {
				for _, t := range tails {
					if strings.HasSuffix(module, t) {
						return true
					}
				}
				return false
			}
		}
		return r, ""
	},
	marks: []string{"W_q"},
})

var hqqVariants = []variant{
	{name: "hqq", when: "always", marks: "W_q zero", parts: []part{
		{name: "W_q", types: "U8 I8 I32 F16 BF16"},
		{name: "scale"},
		{name: "zero"},
	}},
}
