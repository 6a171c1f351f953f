package static

import (
	"cmp"
	"fmt"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// AWQ: the same parts as GPTQ, but the output dimension is packed, so qweight is
// [K, N/8]; zero points are needed by most kernels whatever zero_point says.
var _ = addScheme(scheme{
	methods:  []string{"awq", "awq_marlin"},
	declared: "quantization_config or quant_config.json: bits or w_bit, group_size or q_group_size, version; exclusions in modules_to_not_convert",
	variants: awqVariants,
	rules:    awqRules,
	marks:    []string{"qweight", "qzeros"},
})

var awqVariants = []variant{
	{name: "gemm", when: "version gemm or none", parts: []part{
		{name: "qweight", types: "I32", shape: "[K, N*bits/32]"},
		{name: "qzeros", types: "I32", shape: "[K/g, N*bits/32]"},
		{name: "scales", types: scaleTypes, shape: "[K/g, N]"},
	}},
	{name: "gemv", when: "version gemv; w is K/g/8, padded", parts: []part{
		{name: "qweight", types: "I32", shape: "[N, K*bits/32]"},
		{name: "qzeros", types: "I32", shape: "[N, w]"},
		{name: "scales", types: scaleTypes, shape: "[N, w*8]"},
	}},
	{name: "exllama", when: "version exllama: packed as GPTQ packs", parts: []part{
		{name: "qweight", types: "I32", shape: "[K*bits/32, N]"},
		{name: "qzeros", types: "I32", shape: "[K/g, N*bits/32]"},
		{name: "scales", types: scaleTypes, shape: "[K/g, N]"},
	}},
	{name: "gemv_fast", when: "version gemv_fast or llm-awq: interleaved", parts: []part{
		{name: "qweight", types: "I16"},
		{name: "qzeros", types: "F16 BF16"},
		{name: "scales", types: "F16 BF16"},
	}},
	{name: "marlin", when: "version marlin: repacked", parts: []part{
		{name: "qweight", types: "I32"},
		{name: "qzeros", types: "I32"},
		{name: "scales", types: scaleTypes},
	}},
}

func awqRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "modules_to_not_convert")}
	version := strings.ToLower(cmp.Or(d.Fields.Get("version").Str, "gemm"))
	switch version {
	case "gemm", "gemv", "exllama", "gemv_fast", "marlin":
	case "llm-awq":
		version = "gemv_fast"
	default:
		return r, "version " + version + " is not covered"
	}
	r.form = awqForm(version, d.Fields, d.Fields)
	r.formOf = layerForms(d.Fields.Get("extra_config"), &r.exclude, func(own gjson.Result) form { return awqForm(version, own, d.Fields) })
	return r, ""
}

// awqForm returns the form of a module whose own fields come before those of the
// whole declaration.
func awqForm(version string, own, whole gjson.Result) form {
	known := packing(own, whole)
	for letter, usual := range map[string]int64{"bits": 4, "g": 128} {
		if _, stated := known[letter]; !stated {
			known[letter] = usual
		}
	}
	f := variantOf(awqVariants, version).form(whole, known)
	if version == "gemm" {
		f.mixedUp = func(shape func(string) []int64) string {
			q, s := shape("qweight"), shape("scales")
			if len(q) == 2 && len(s) == 2 && s[1] == q[1] && q[1] != q[1]*32/known["bits"] {
				return fmt.Sprintf("qweight %v and scales %v are packed as GPTQ packs them", q, s)
			}
			return ""
		}
	}
	return f
}
