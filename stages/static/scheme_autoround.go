package static

import (
	"regexp"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// AutoRound: packing_format says whose storage is used; extra_config gives single
// layers their own width, or leaves them plain.
var _ = addScheme(scheme{
	methods: []string{"auto-round", "auto_round", "intel/auto-round", "inc"},
	declared: "quantization_config or quantization_config.json: packing_format, bits, group_size, extra_config (layer to its own bits; 16 or more is plain), " +
		"block_name_to_quantize",
	variants: autoRoundVariants,
	rules:    autoRoundRules,
})

var autoRoundVariants = []variant{
	{name: "auto_gptq", when: "packing_format auto_round, auto_gptq, gptqmodel, exllamav2 or none: as GPTQ", parts: gptqVariants[0].parts},
	{name: "auto_awq", when: "packing_format auto_awq: as AWQ gemm", parts: awqVariants[0].parts},
	{name: "nv_fp", when: "packing_format nv_fp", marks: autoRoundMarks, parts: []part{
		{name: "weight_packed|weight", types: "U8", shape: "[N, K/2]"},
		{name: "weight_scale", types: "F8_E4M3", shape: "[N, K/16]"},
		{name: "weight_global_scale|weight_scale_2", types: "F32"},
		{name: "input_global_scale|input_scale", types: "F32", when: ifStored},
	}},
	{name: "mx_fp", when: "packing_format mx_fp", marks: autoRoundMarks, parts: []part{
		{name: "weight_packed|weight", types: "U8 F8_E4M3"},
		{name: "weight_scale", types: e8m0},
	}},
	{name: "fp8", when: "packing_format fp8", marks: autoRoundMarks, parts: []part{
		{name: "weight", types: fp8Types, shape: "[N, K]"},
		{name: "weight_scale|weight_scale_inv", types: scaleTypes},
		{name: "input_scale", types: scaleTypes, shape: "[]", when: ifStored},
	}},
	{name: "mlx", when: "packing_format mlx: as MLX affine", parts: mlxVariants[0].parts},
}

const autoRoundMarks = "weight_packed weight_scale weight_scale_inv weight_scale_2 weight_global_scale input_global_scale input_scale"

func autoRoundRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "modules_to_not_convert"), include: blocks(d.Fields.Get("block_name_to_quantize"))}
	packing := strings.ToLower(d.Fields.Get("packing_format").Str)
	if r.form = autoRoundForm(packing, d.Fields, d.Fields); r.form.unsure != "" {
		return r, r.form.unsure
	}
	r.formOf = layerForms(d.Fields.Get("extra_config"), &r.exclude, func(own gjson.Result) form { return autoRoundForm(packing, own, d.Fields) })
	return r, ""
}

// layerForms returns the forms of layers that have an entry of their own, by name or
// by pattern; one of 16 bits or more is plain, and goes to the exclusions. GPTQ and
// AWQ files that AutoRound wrote have such entries too.
func layerForms(entries gjson.Result, exclude *matcher, formOf func(own gjson.Result) form) func(string) *form {
	own := map[string]form{}
	type override struct {
		pattern *regexp.Regexp
		form    form
	}
	var patterns []override
	entries.ForEach(func(k, v gjson.Result) bool {
		re, err := regexp.Compile("^(?:" + k.Str + ")$")
		isPattern := strings.ContainsAny(k.Str, "*+?[(|^$\\")
		switch plain := v.Get("bits").Int() >= 16; {
		case isPattern && (err != nil || len(patterns) >= maxPatterns):
			exclude.bad = append(exclude.bad, k.Str)
		case isPattern && plain:
			exclude.addRegex(k.Str, k.Str)
		case isPattern:
			patterns = append(patterns, override{re, formOf(v)})
		case plain:
			exclude.add(k.Str)
		default:
			own[k.Str] = formOf(v)
		}
		return true
	})
	exact := named(own)
	return func(module string) *form {
		if exact != nil {
			if f := exact(module); f != nil {
				return f
			}
		}
		for i := range patterns {
			if patterns[i].pattern.MatchString(module) {
				return &patterns[i].form
			}
		}
		return nil
	}
}

func autoRoundForm(packing string, own, whole gjson.Result) form {
	name := packing[strings.LastIndexByte(packing, ':')+1:]
	switch {
	case strings.Contains(name, "awq"):
		return awqForm("gemm", own, whole)
	case strings.Contains(name, "nv_fp"):
		return variantOf(autoRoundVariants, "nv_fp").form(whole, nil)
	case strings.Contains(name, "mx_fp"):
		return variantOf(autoRoundVariants, "mx_fp").form(whole, nil)
	case strings.Contains(name, "fp8"):
		return variantOf(autoRoundVariants, "fp8").form(whole, nil)
	case name == "mlx":
		return mlxForm(own, whole)
	case name == "", name == "auto_round", strings.Contains(name, "gptq"), strings.Contains(name, "exllama"):
		return gptqForm(own, whole)
	}
	return notCovered("packing_format %s is not covered", packing)
}

// blocks returns which modules are below the named blocks, nil for all: one text
// with commas, or a list, of prefixes.
func blocks(r gjson.Result) func(string) bool {
	var prefixes []string
	for _, e := range r.Array() {
		for p := range strings.SplitSeq(e.Str, ",") {
			if p = strings.TrimSpace(p); p != "" {
				prefixes = append(prefixes, p+".")
			}
		}
	}
	if prefixes == nil {
		return nil
	}
	return func(module string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(module, p) || strings.HasPrefix(unwrap(module), unwrap(p)) {
				return true
			}
		}
		return false
	}
}
