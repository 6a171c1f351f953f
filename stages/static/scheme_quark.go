package static

import (
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// Quark: a specification for all layers, and others for layers by pattern or class.
var _ = addScheme(scheme{
	methods: []string{"quark"},
	declared: "quantization_config: global_quant_config, layer_quant_config (patterns), layer_type_quant_config (classes); exclusions in exclude, " +
		"by the names of the checkpoint, with wildcards",
	variants: quarkVariants,
	rules:    quarkRules,
	marks:    []string{"weight_scale", "weight_zero_point"},
})

var (
	quarkInput = part{name: "input_scale", types: scaleTypes, when: when{"if input_tensors are stated and not dynamic", func(f gjson.Result) bool {
		return f.Get("input_tensors").IsObject() && !f.Get("input_tensors.is_dynamic").Bool()
	}}}
	quarkZero = part{name: "weight_zero_point", when: when{"if weight.symmetric is false", func(f gjson.Result) bool {
		return f.Get("weight.symmetric").Type == gjson.False
	}}}
)

const quarkMarks = "weight_scale weight_zero_point input_scale"

var quarkVariants = []variant{
	{name: "fp8", when: "weight.dtype fp8_e4m3", marks: quarkMarks, parts: []part{
		{name: "weight", types: fp8Types, shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes},
		quarkInput,
	}},
	{name: "mxfp4", when: "weight.dtype fp4, groups of 32", marks: quarkMarks, parts: []part{
		{name: "weight", types: "U8", shape: "[N, K/2]"},
		{name: "weight_scale", types: e8m0, shape: "[N, K/32]"},
	}},
	{name: "int8", when: "weight.dtype int8", marks: quarkMarks, parts: []part{
		{name: "weight", types: "I8", shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes},
		quarkZero, quarkInput,
	}},
	{name: "int4", when: "weight.dtype int4 or uint4", marks: quarkMarks, parts: []part{
		{name: "weight", types: "I32 U8 I8"},
		{name: "weight_scale", types: scaleTypes},
		quarkZero, quarkInput,
	}},
}

func quarkRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "exclude"), routers: true}
	r.form = quarkForm(d.Fields.Get("global_quant_config"))
	d.Fields.Get("layer_type_quant_config").ForEach(func(k, v gjson.Result) bool {
		if strings.HasSuffix(k.Str, "Linear") {
			r.form = quarkForm(v)
		}
		return true
	})
	type override struct {
		at   matcher
		form form
	}
	var list []override
	d.Fields.Get("layer_quant_config").ForEach(func(k, v gjson.Result) bool {
		m := matching([]gjson.Result{k})
		r.exclude.bad = append(r.exclude.bad, m.bad...)
		if len(list) >= maxPatterns {
			r.exclude.bad = append(r.exclude.bad, k.Str)
			return false
		}
		list = append(list, override{m, quarkForm(v)})
		return true
	})
	if len(list) == 0 {
		return r, r.form.unsure
	}
	r.formOf = func(module string) *form {
		for i := range list {
			if list[i].at.loosely(module) {
				return &list[i].form
			}
		}
		return nil
	}
	return r, ""
}

func quarkForm(fields gjson.Result) form {
	dtype := fields.Get("weight.dtype").Str
	switch {
	case fields.Get("weight").Type == gjson.Null:
		return notCovered("no specification of the weight is stated")
	case strings.HasPrefix(dtype, "fp8_e4m3"):
		return variantOf(quarkVariants, "fp8").form(fields, nil)
	case dtype == "int8":
		return variantOf(quarkVariants, "int8").form(fields, nil)
	case dtype == "int4", dtype == "uint4":
		return variantOf(quarkVariants, "int4").form(fields, nil)
	case dtype == "fp4" && fields.Get("weight.group_size").Int() == 32:
		return variantOf(quarkVariants, "mxfp4").form(fields, nil)
	}
	return notCovered("the weight's specification %s is not covered", fields.Get("weight").Raw)
}
