package static

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// GPTQ: the input dimension is packed, so qweight is [K*bits/32, N].
var _ = addScheme(scheme{
	methods: []string{"gptq", "gptq_marlin", "marlin"},
	declared: "quantization_config or quantize_config.json: bits, group_size (-1: one group), desc_act, checkpoint_format; no list of exclusions, " +
		"but modules_in_block_to_quantize, and dynamic with patterns that override or, with `-:`, exclude",
	variants: gptqVariants,
	rules:    gptqRules,
	marks:    []string{"qweight", "qzeros", "g_idx"},
})

// actOrder: without g_idx the groups of an act-order checkpoint are read in file order.
var actOrder = when{"if desc_act is true and the group is smaller than K", func(f gjson.Result) bool {
	return f.Get("desc_act").Bool() && f.Get("group_size").Int() > 0
}}

var gptqVariants = []variant{
	{name: "gptq", when: "checkpoint_format gptq, gptq_v2, gptq_p or none", parts: []part{
		{name: "qweight", types: "I32", shape: "[K*bits/32, N]"},
		{name: "qzeros", types: "I32", shape: "[K/g, N*bits/32]"},
		{name: "scales", types: scaleTypes, shape: "[K/g, N]"},
		{name: "g_idx", types: "I32", shape: "[K]", when: actOrder},
	}},
	{name: "marlin", when: "checkpoint_format or quant_method marlin", parts: []part{
		{name: "B", types: "I32"},
		{name: "s", types: "F16 BF16"},
	}},
}

func gptqRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "modules_to_not_convert"), include: gptqBlocks(d)}
	switch format := cmp.Or(d.Fields.Get("checkpoint_format").Str, d.Fields.Get("format").Str); {
	case format == "bitblas" || format == "qqq":
		return r, "the serialised format " + format + " is not covered"
	case format == "marlin" || d.Method == "marlin":
		r.form = variantOf(gptqVariants, "marlin").form(d.Fields, nil)
		return r, ""
	}
	r.form = gptqForm(d.Fields, d.Fields)
	layer := layerForms(d.Fields.Get("extra_config"), &r.exclude, func(own gjson.Result) form { return gptqForm(own, d.Fields) })
	dynamic := gptqDynamic(d.Fields, &r.exclude)
	r.formOf = func(module string) *form {
		if dynamic != nil {
			if f := dynamic(module); f != nil {
				return f
			}
		}
		return layer(module)
	}
	return r, ""
}

// gptqForm returns the form of a module whose own fields come before those of the
// whole declaration.
func gptqForm(own, whole gjson.Result) form {
	f := variantOf(gptqVariants, "gptq").form(whole, packing(own, whole))
	f.mixedUp = func(shape func(string) []int64) string {
		q, s := shape("qweight"), shape("scales")
		if bits := f.values["bits"]; len(q) == 2 && len(s) == 2 && s[1] != q[1] && s[1] == q[1]*32/max(bits, 1) {
			return fmt.Sprintf("qweight %v and scales %v are packed as AWQ packs them", q, s)
		}
		return ""
	}
	return f
}

// packing returns the bits and the group size that fields state; a width that no
// packing has is left out, and nothing follows from it.
func packing(own, whole gjson.Result) letters {
	v := letters{}
	first := func(keys ...string) (n int64, ok bool) {
		for _, where := range []gjson.Result{own, whole} {
			for _, k := range keys {
				if r := where.Get(k); r.Type == gjson.Number {
					return r.Int(), true
				}
			}
		}
		return 0, false
	}
	if bits, ok := first("bits", "w_bit"); ok && bits > 0 && bits <= 8 {
		v["bits"] = bits
	}
	if group, ok := first("group_size", "q_group_size"); ok {
		v["g"] = group
	}
	return v
}

// gptqDynamic returns the forms of modules that a pattern of "dynamic" overrides,
// and adds those that one excludes to the exclusions.
func gptqDynamic(fields gjson.Result, exclude *matcher) func(string) *form {
	type override struct {
		pattern *regexp.Regexp
		form    form
	}
	var list []override
	fields.Get("dynamic").ForEach(func(k, v gjson.Result) bool {
		if pattern, off := strings.CutPrefix(k.Str, "-:"); off {
			exclude.addRegex(k.Str, pattern)
			return true
		}
		re, err := regexp.Compile("^(?:" + strings.TrimPrefix(k.Str, "+:") + ")")
		if err != nil || len(list) >= maxPatterns {
			exclude.bad = append(exclude.bad, k.Str)
			return true
		}
		list = append(list, override{re, gptqForm(v, fields)})
		return true
	})
	if list == nil {
		return nil
	}
	return func(module string) *form {
		for i := range list {
			if list[i].pattern.MatchString(module) {
				return &list[i].form
			}
		}
		return nil
	}
}

// gptqBlocks returns which modules are meant, nil for all of the blocks.
func gptqBlocks(d checkpoint.Declaration) func(string) bool {
	var inside []string
	for _, group := range d.Fields.Get("modules_in_block_to_quantize").Array() {
		for _, e := range append(group.Array(), group) {
			if e.Str != "" {
				inside = append(inside, "."+e.Str)
			}
		}
	}
	if inside == nil {
		return nil
	}
	return func(module string) bool {
		for _, tail := range inside {
			if strings.HasSuffix(module, tail) {
				return true
			}
		}
		return false
	}
}
