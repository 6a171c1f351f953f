package static

import (
	"strings"

	"infbench/stages/checkpoint"
)

// bitsandbytes: 8 bits keep the weight's name beside SCB; 4 bits pack it and add
// absmax, a table and a state under the weight's own name.
var _ = addScheme(scheme{
	methods:  []string{"bitsandbytes"},
	declared: "quantization_config: load_in_4bit or load_in_8bit; exclusions in llm_int8_skip_modules",
	variants: bnbVariants,
	rules:    bnbRules,
	marks:    []string{"SCB", "weight.absmax", "weight.quant_map"},
})

var bnbVariants = []variant{
	{
		name: "4-bit", when: "load_in_4bit; V is N*K, the weight is U8 unless bnb_4bit_quant_storage says otherwise",
		parts: []part{
			{name: "weight", shape: "[V/2, 1]"},
			{name: "weight.absmax", types: "F32 U8", shape: "[V/64] or [V/128] or [V/32]"},
			{name: "weight.quant_map", types: "F32", shape: "[16]"},
			{name: "weight.quant_state.bitsandbytes__nf4|weight.quant_state.bitsandbytes__fp4", types: "U8"},
			{name: "weight.nested_absmax", types: "F32", when: whenSet("bnb_4bit_use_double_quant")},
			{name: "weight.nested_quant_map", types: "F32", shape: "[256]", when: whenSet("bnb_4bit_use_double_quant")},
		},
	},
	{name: "8-bit", when: "load_in_8bit", parts: []part{
		{name: "weight", types: "I8", shape: "[N, K]"},
		{name: "SCB", types: "F32", shape: "[N]"},
		{name: "weight_format", types: "U8", when: ifStored},
	}},
}

func bnbRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "llm_int8_skip_modules", "modules_to_not_convert")}
	switch {
	case d.Fields.Get("load_in_8bit").Bool():
		r.form = variantOf(bnbVariants, "8-bit").form(d.Fields, nil)
	case d.Fields.Get("load_in_4bit").Bool():
		v := variantOf(bnbVariants, "4-bit")
		if storage := d.Fields.Get("bnb_4bit_quant_storage").Str; storage == "" || strings.HasSuffix(storage, "uint8") {
			v = v.with("weight", "U8", "[V/2, 1]")
		} else {
			v = v.with("weight", "", "") // the same bytes under another dtype
		}
		r.form = v.form(d.Fields, nil)
	default:
		return r, "neither load_in_4bit nor load_in_8bit is set"
	}
	return r, ""
}
