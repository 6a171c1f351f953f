package static

import (
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// FP-Quant: four-bit floats behind a Hadamard transform.
var _ = addScheme(scheme{
	methods:  []string{"fp_quant"},
	declared: "quantization_config: forward_dtype; exclusions in modules_to_not_convert",
	variants: fpQuantVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		f := fpQuantVariants[0].form(d.Fields, nil)
		if d.Fields.Get("pseudoquantization").Bool() {
			f = notCovered("pseudoquantization stores other tensors")
		}
		return rules{form: f, exclude: excluded(d, "modules_to_not_convert")}, f.unsure
	},
})

var isNVFP4 = when{"if forward_dtype is nvfp4", func(f gjson.Result) bool { return strings.EqualFold(f.Get("forward_dtype").Str, "nvfp4") }}

var fpQuantVariants = []variant{
	{name: "fp_quant", when: "forward_dtype mxfp4 or nvfp4", marks: "qweight scales weight_global_scale act_global_scale", parts: []part{
		{name: "qweight"},
		{name: "scales"},
		{name: "weight_global_scale", when: isNVFP4},
		{name: "act_global_scale", when: isNVFP4},
		{name: "forward_hadamard_matrix", when: ifStored},
		{name: "backward_hadamard_matrix", when: ifStored},
	}},
}
