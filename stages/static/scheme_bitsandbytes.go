package static

import "infbench/stages/checkpoint"

// bitsandbytes: 8 bits keep the weight's name beside SCB; 4 bits pack it and add
// absmax, a table and a state under the weight's own name.
var _ = addScheme(scheme{
	methods: []string{"bitsandbytes"},
	rules:   bnbRules,
	marks:   []string{"SCB", "weight.absmax", "weight.quant_map"},
})

func bnbRules(d checkpoint.Declaration) (rules, string) {
	r := rules{weight: "weight", exclude: excluded(d, "llm_int8_skip_modules", "modules_to_not_convert")}
	if d.Fields.Get("load_in_8bit").Bool() {
		r.needs = [][]string{{"SCB"}}
		r.marks = []string{"SCB", "weight_format"}
		r.dtypes = map[string][]checkpoint.DType{"weight": {"I8"}, "SCB": {"F32"}}
		return r, ""
	}
	if !d.Fields.Get("load_in_4bit").Bool() {
		return r, "neither load_in_4bit nor load_in_8bit is set"
	}
	r.needs = [][]string{
		{"weight.absmax"},
		{"weight.quant_map"},
		{"weight.quant_state.bitsandbytes__nf4", "weight.quant_state.bitsandbytes__fp4"},
	}
	if d.Fields.Get("bnb_4bit_use_double_quant").Bool() {
		r.needs = append(r.needs, []string{"weight.nested_absmax"}, []string{"weight.nested_quant_map"})
	}
	r.marks = []string{"weight.absmax", "weight.quant_map", "weight.quant_state.bitsandbytes__nf4", "weight.quant_state.bitsandbytes__fp4"}
	return r, ""
}
