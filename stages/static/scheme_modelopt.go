package static

import "infbench/stages/checkpoint"

// ModelOpt: quant_algo names the variant; exclusions use the shell's wildcards.
var _ = addScheme(scheme{
	methods: []string{"modelopt"},
	rules:   modeloptRules,
	marks:   []string{"weight_scale", "weight_scale_2", "pre_quant_scale"},
})

func modeloptRules(d checkpoint.Declaration) (rules, string) {
	r := rules{
		weight: "weight", routers: true,
		marks:   []string{"weight_scale", "weight_scale_2", "input_scale"},
		exclude: excluded(d, "exclude_modules", "ignore"),
	}
	fp8 := map[string][]checkpoint.DType{"weight": {"F8_E4M3"}, "weight_scale": scaleTypes, "input_scale": scaleTypes}
	fp4 := map[string][]checkpoint.DType{"weight": {"U8"}, "weight_scale": {"F8_E4M3"}, "weight_scale_2": {"F32"}, "input_scale": {"F32"}}
	switch algo := d.Fields.Get("quant_algo").Str; algo {
	case "FP8":
		r.needs, r.dtypes = [][]string{{"weight_scale"}, {"input_scale"}}, fp8
	case "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO":
		r.needs, r.dtypes = [][]string{{"weight_scale"}}, fp8
	case "NVFP4":
		r.needs, r.dtypes = [][]string{{"weight_scale"}, {"weight_scale_2"}, {"input_scale"}}, fp4
		r.shape = nvfp4Shape("weight", "weight_scale")
	case "W4A16_NVFP4":
		r.needs, r.dtypes = [][]string{{"weight_scale"}, {"weight_scale_2"}}, fp4
		r.shape = nvfp4Shape("weight", "weight_scale")
	default:
		return r, "quant_algo " + algo + " is not covered"
	}
	return r, ""
}
