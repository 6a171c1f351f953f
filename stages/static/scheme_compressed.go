package static

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// compressed-tensors: one method, many formats. Targets and exclusions are class
// names, full names or "re:" patterns matched from the start.
var _ = addScheme(scheme{
	methods: []string{"compressed-tensors", "compressed_tensors"},
	declared: "quantization_config or compression_config: format, config_groups with targets and a format of their own; exclusions in ignore " +
		"(full names, class names, `re:` patterns)",
	variants: compressedVariants,
	rules:    compressedRules,
	marks:    []string{"weight_packed", "weight_scale", "weight_shape", "weight_global_scale", "weight_zero_point", "weight_g_idx"},
})

var (
	asymmetric = when{"if weights.symmetric is false", func(g gjson.Result) bool { return g.Get("weights.symmetric").Type == gjson.False }}
	actGroups  = whenIs("weights.actorder", "group")
	quantInput = when{"if input_activations are stated", func(g gjson.Result) bool { return g.Get("input_activations").IsObject() }}
	fixedInput = when{"if input_activations are stated and not dynamic", func(g gjson.Result) bool {
		dynamic := g.Get("input_activations.dynamic")
		return g.Get("input_activations").IsObject() && !dynamic.Bool() && dynamic.Str != "local"
	}}

	zeroPoint  = part{name: "weight_zero_point", types: "I32 I8 U8 F8_E4M3", when: asymmetric}
	groupIndex = part{name: "weight_g_idx", types: "I32 I64", shape: "[K]", when: actGroups}
	inputScale = part{name: "input_scale", types: scaleTypes, when: fixedInput}
)

const compressedMarks = "weight_packed weight_scale weight_shape weight_zero_point weight_g_idx"

var compressedVariants = []variant{
	{name: "pack-quantized", marks: compressedMarks, parts: []part{
		{name: "weight_packed", types: "I32", shape: "[N, K*bits/32]"},
		{name: "weight_scale", types: scaleTypes, shape: "[N, K/g]"},
		{name: "weight_shape", types: "I64 I32", shape: "[2]"},
		zeroPoint, groupIndex,
		{name: "input_global_scale", types: scaleTypes, when: whenIs("input_activations.strategy", "tensor_group")},
	}},
	{name: "int-quantized", marks: "weight_scale weight_zero_point input_scale weight_g_idx", parts: compressedPlain("I8")},
	{name: "float-quantized", marks: "weight_scale weight_zero_point input_scale weight_g_idx", parts: compressedPlain("F8_E4M3")},
	{
		name: "naive-quantized", when: "as int-quantized or float-quantized, by weights.type", marks: "weight_scale weight_zero_point input_scale weight_g_idx",
		parts: compressedPlain("I8 F8_E4M3"),
	},
	{name: "nvfp4-pack-quantized", marks: "weight_packed weight_scale weight_global_scale input_global_scale", parts: []part{
		{name: "weight_packed", types: "U8", shape: "[N, K/2]"},
		{name: "weight_scale", types: "F8_E4M3", shape: "[N, K/16]"},
		{name: "weight_global_scale", types: "F32"},
		{name: "input_global_scale", types: "F32", when: quantInput},
	}},
	{name: "mxfp4-pack-quantized", marks: compressedMarks, parts: []part{
		{name: "weight_packed", types: "U8", shape: "[N, K/2]"},
		{name: "weight_scale", types: e8m0, shape: "[N, K/32]"},
		zeroPoint,
	}},
	{name: "mxfp8-quantized", marks: compressedMarks, parts: []part{
		{name: "weight", types: "F8_E4M3", shape: "[N, K]"},
		{name: "weight_scale", types: e8m0, shape: "[N, K/32]"},
	}},
	{name: "dense", when: "nothing is packed", parts: []part{{name: "weight"}}},
}

// compressedPlain are the parts of the formats that do not pack; what a row of
// weight_scale stands for follows from weights.strategy.
func compressedPlain(types string) []part {
	return []part{
		{name: "weight", types: types, shape: "[N, K]"},
		{name: "weight_scale", types: scaleTypes, shape: "[] or [N] or [N/bn, K/bk]"},
		inputScale,
		{name: "input_zero_point", types: "I8 F8_E4M3", when: when{
			"if input_activations are not dynamic and not symmetric",
			func(g gjson.Result) bool {
				return fixedInput.holds(g) && g.Get("input_activations.symmetric").Type == gjson.False
			},
		}},
		zeroPoint, groupIndex,
	}
}

// compressedRules gives each module the form of the group that targets it: by name
// first, then by class, as engines look.
func compressedRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "ignore"), routers: true}
	if s := d.Fields.Get("sparsity_config.format").Str; s != "" && s != "dense" {
		return r, fmt.Sprintf("the sparse format %q is not covered", s)
	}
	var groups []compressedGroup
	d.Fields.Get("config_groups").ForEach(func(_, g gjson.Result) bool {
		for _, t := range g.Get("targets").Array() {
			if strings.ContainsAny(t.Str, ".:") { // a class has neither
				r.targets = append(r.targets, t.Str)
			}
		}
		groups = append(groups, compressedGroup{targets(g), compressedForm(cmp.Or(g.Get("format").Str, d.Fields.Get("format").Str), g)})
		return true
	})
	if len(groups) > maxPatterns {
		return r, "there are too many groups"
	}
	if len(groups) == 0 {
		groups = []compressedGroup{{form: compressedForm(d.Fields.Get("format").Str, gjson.Result{})}}
	}
	slices.SortStableFunc(groups, func(a, b compressedGroup) int { return cmp.Compare(a.rank(), b.rank()) })
	r.form, r.include = groups[len(groups)-1].form, groups[len(groups)-1].meant
	if len(groups) == 1 {
		return r, r.form.unsure
	}
	find := func(module string) *form {
		for i := range groups {
			if groups[i].meant == nil || groups[i].meant(module) {
				return &groups[i].form
			}
		}
		return nil
	}
	if r.formOf = find; r.include != nil { // no group takes every linear layer
		r.include = func(module string) bool { return find(module) != nil }
		r.form = notCovered("no group of config_groups targets it")
		r.form.marks = strings.Fields(compressedMarks)
	}
	return r, ""
}

// A compressedGroup is one of the config_groups: which modules it means, nil for
// every linear layer, and what they store.
type compressedGroup struct {
	meant func(string) bool
	form  form
}

func (g compressedGroup) rank() int {
	if g.meant == nil {
		return 1
	}
	return 0
}

func compressedForm(format string, group gjson.Result) form {
	i := slices.IndexFunc(compressedVariants, func(v variant) bool { return v.name == format })
	if i < 0 {
		return notCovered("format %q is not covered", format)
	}
	v, weights, known := compressedVariants[i], group.Get("weights"), letters{}
	switch format {
	case "pack-quantized":
		known["g"] = weights.Get("group_size").Int()
		if bits := weights.Get("num_bits").Int(); bits > 0 && bits <= 8 {
			known["bits"] = bits
		}
	case "int-quantized", "float-quantized", "naive-quantized":
		if weights.Get("type").Str == "int" && format == "naive-quantized" {
			v = v.with("weight", "I8", "[N, K]")
		} else if format == "naive-quantized" {
			v = v.with("weight", "F8_E4M3", "[N, K]")
		}
		v = v.with("weight_scale", scaleTypes, compressedScale(weights, known))
	}
	f := v.form(group, known)
	f.plainAllowed = format == "dense"
	return f
}

// compressedScale returns the shape of weight_scale under a strategy.
func compressedScale(weights gjson.Result, known letters) string {
	block := weights.Get("block_structure").Array()
	switch strategy := weights.Get("strategy").Str; {
	case strategy == "block" && len(block) == 2:
		known["bn"], known["bk"] = block[0].Int(), block[1].Int()
		return "[N/bn, K/bk]"
	case strategy == "block":
		return ""
	case strategy == "group":
		known["g"] = weights.Get("group_size").Int()
		return "[N, K/g]"
	}
	return perTensor
}

// targets returns which modules a group means, nil for every linear layer.
func targets(group gjson.Result) func(string) bool {
	list := group.Get("targets").Array()
	for _, t := range list {
		if compressedClasses[t.Str] {
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	m := matching(list)
	return m.loosely
}

// compressedClasses are the classes of linear layers that targets name.
var compressedClasses = setOf("Linear LinearBase FusedMoE MoELinear RowParallelLinear ColumnParallelLinear")
