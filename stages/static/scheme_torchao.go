package static

import "infbench/stages/checkpoint"

// torchao: the fields of a tensor subclass, one stored tensor each; which layers
// are quantised is decided by code, so a plain layer is no defect.
var _ = addScheme(scheme{
	methods:  []string{"torchao"},
	declared: "quantization_config: quant_type; each shard's __metadata__ says how to rebuild the tensors; exclusions in modules_to_not_convert",
	variants: torchaoVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		f := torchaoVariants[0].form(d.Fields, nil)
		f.plainAllowed = true
		return rules{form: f, exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	marks: []string{"weight_qdata", "_weight_qdata"},
})

var torchaoVariants = []variant{
	{name: "torchao", when: "always", parts: []part{
		{name: "weight_qdata|_weight_qdata"},
		{name: "weight_scale|_weight_scale|weight_scale_and_zero|_weight_scale_and_zero"},
		{name: "weight_zero_point|_weight_zero_point", when: ifStored},
		{name: "weight_per_tensor_scale|_weight_per_tensor_scale", when: ifStored},
		{name: "weight_act_pre_scale|_weight_act_pre_scale", when: ifStored},
	}},
}
