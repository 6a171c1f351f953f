package static

import (
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// ModelOpt: quant_algo names the variant; exclusions use the shell's wildcards.
var _ = addScheme(scheme{
	methods: []string{"modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed"},
	declared: "hf_quant_config.json `quantization`, or quantization_config: quant_algo, group_size, with MIXED_PRECISION quantized_layers (module to quant_algo); " +
		"exclusions in exclude_modules or ignore, with wildcards",
	variants: modeloptVariants,
	rules:    modeloptRules,
	marks:    []string{"weight_scale", "weight_scale_2", "pre_quant_scale"},
})

const modeloptMarks = "weight_scale weight_scale_2 input_scale pre_quant_scale"

var (
	preQuant = part{name: "pre_quant_scale", types: scaleTypes, shape: "[K]", when: when{words: "unless it was folded into the layer before"}}
	fp8Input = part{name: "input_scale", types: scaleTypes, shape: "[]", when: ifStored}
	nvfp4    = []part{
		{name: "weight", types: "U8", shape: "[N, K/2]"},
		{name: "weight_scale", types: "F8_E4M3", shape: "[N, K/16]"},
		{name: "weight_scale_2", types: "F32", shape: "[]"},
	}
	nvfp4Input = part{name: "input_scale", types: "F32", shape: "[]", when: when{
		"unless config_groups are stated and none has input_activations",
		func(f gjson.Result) bool {
			quantised, groups := false, f.Get("config_groups")
			groups.ForEach(func(_, g gjson.Result) bool {
				quantised = quantised || g.Get("input_activations").IsObject()
				return true
			})
			return quantised || !groups.IsObject()
		},
	}}
)

func parts(first []part, more ...part) []part { return append(append([]part{}, first...), more...) }

var modeloptVariants = []variant{
	{name: "FP8", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes, shape: "[]"},
		{name: "input_scale", types: scaleTypes, shape: "[]"},
	}},
	{name: "FP8_PER_CHANNEL_PER_TOKEN", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes, shape: "[N]"},
	}},
	{name: "FP8_PB_WO", when: "quant_algo FP8_PB_WO or FP8_BLOCK_SCALES", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale|weight_scale_inv", types: scaleTypes, shape: "[N/128, K/128]"},
	}},
	{name: "MXFP8", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale", types: e8m0, shape: "[N, K/32]"},
	}},
	{name: "NVFP4", marks: modeloptMarks, parts: parts(nvfp4, nvfp4Input)},
	{name: "NVFP4_AWQ", marks: modeloptMarks, parts: parts(nvfp4, nvfp4Input, preQuant)},
	{name: "NVFP4_SVD", marks: modeloptMarks, parts: parts(nvfp4, nvfp4Input, preQuant,
		part{name: "svdquant_lora_a", types: scaleTypes, when: ifStored}, part{name: "svdquant_lora_b", types: scaleTypes, when: ifStored})},
	{name: "W4A16_NVFP4", marks: modeloptMarks, parts: nvfp4},
	{name: "W4A8_NVFP4_FP8", marks: modeloptMarks, parts: parts(nvfp4, fp8Input)},
	{name: "W4A8_MXFP4_FP8", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "U8", shape: "[N, K/2]"},
		{name: "weight_scale", types: e8m0, shape: "[N, K/32]"},
		fp8Input,
	}},
	{name: "W4A16_AWQ", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "U8"},
		{name: "weight_scale", types: scaleTypes},
		preQuant,
	}},
	{name: "W4A8_AWQ", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "U8"},
		{name: "weight_scale", types: scaleTypes},
		{name: "weight_scale_2", types: scaleTypes},
		{name: "input_scale", types: scaleTypes, shape: "[]"},
		preQuant,
	}},
	{name: "W8A16", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "I8", shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes},
	}},
	{name: "W8A8_SQ_PER_CHANNEL", marks: modeloptMarks, parts: []part{
		{name: "weight", types: "I8", shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes, shape: perTensor},
		fp8Input,
		preQuant,
	}},
}

func modeloptRules(d checkpoint.Declaration) (rules, string) {
	if inner := d.Fields.Get("quantization"); inner.Get("quant_algo").Exists() {
		d.Fields = inner // the whole of hf_quant_config.json in config.json
	}
	r := rules{routers: true, exclude: excluded(d, "exclude_modules", "ignore")}
	algo := d.Fields.Get("quant_algo").Str
	if algo == "" && d.Method == "modelopt_fp4" {
		algo = "NVFP4"
	}
	if layers := d.Fields.Get("quantized_layers"); layers.IsObject() && (algo == "MIXED_PRECISION" || algo == "") {
		return modeloptMixed(d, r, layers), ""
	}
	if r.form = modeloptForm(algo, d.Fields); r.form.unsure != "" {
		return r, r.form.unsure
	}
	return r, ""
}

// modeloptMixed gives each listed layer its own algorithm. A layer that is not
// listed is plain; when it stores scales after all, its name is written otherwise
// than the list's, and which algorithm it has is not known.
func modeloptMixed(d checkpoint.Declaration, r rules, layers gjson.Result) rules {
	own := map[string]form{}
	type override struct {
		at   matcher
		form form
	}
	var patterns []override
	layers.ForEach(func(k, v gjson.Result) bool {
		f := modeloptForm(v.Get("quant_algo").Str, d.Fields)
		switch isPattern := strings.ContainsAny(k.Str, "*?["); {
		case isPattern && len(patterns) >= maxPatterns:
			r.exclude.bad = append(r.exclude.bad, k.Str)
		case isPattern:
			patterns = append(patterns, override{matching([]gjson.Result{k}), f})
		default:
			own[k.Str] = f
		}
		return true
	})
	exact := named(own)
	find := func(module string) *form {
		for name := module; name != "" && exact != nil; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
			if f := exact(name); f != nil {
				return f
			}
		}
		for i := range patterns {
			if patterns[i].at.loosely(module) {
				return &patterns[i].form
			}
		}
		return nil
	}
	unlisted := notCovered("quantized_layers does not name the layer as it is stored")
	unlisted.marks = strings.Fields(modeloptMarks)
	r.form = unlisted
	r.formOf = find
	r.include = func(module string) bool { return find(module) != nil }
	return r
}

func modeloptForm(algo string, fields gjson.Result) form {
	for _, v := range modeloptVariants {
		if v.name == algo || v.name == "FP8_PB_WO" && algo == "FP8_BLOCK_SCALES" {
			return v.form(fields, nil)
		}
	}
	return notCovered("quant_algo %s is not covered", algo)
}
