package static

import (
	"cmp"
	"fmt"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// compressed-tensors: one method, many formats. Targets and exclusions are class
// names, full names or "re:" patterns matched from the start.
var _ = addScheme(scheme{
	methods: []string{"compressed-tensors", "compressed_tensors"},
	rules:   compressedRules,
	marks:   []string{"weight_packed", "weight_scale", "weight_shape", "weight_global_scale", "weight_zero_point", "weight_g_idx"},
})

func compressedRules(d checkpoint.Declaration) (rules, string) {
	r := rules{exclude: excluded(d, "ignore"), routers: true, weight: "weight"}
	format, group, why := compressedGroup(d)
	if why != "" {
		return r, why
	}
	weights, act := group.Get("weights"), group.Get("input_activations")
	asym := weights.Get("symmetric").Exists() && !weights.Get("symmetric").Bool()
	r.include = targets(group)
	switch format {
	case "pack-quantized":
		r.packed(weights)
	case "int-quantized", "float-quantized", "naive-quantized":
		r.unpacked(format, weights, act)
	case "nvfp4-pack-quantized":
		r.nvfp4(act)
		return r, ""
	case "dense":
		r.plainAllowed = true
		return r, ""
	default:
		return r, fmt.Sprintf("format %q is not covered", format)
	}
	if asym {
		r.needs = append(r.needs, []string{"weight_zero_point"})
	}
	if weights.Get("actorder").Str == "group" {
		r.needs = append(r.needs, []string{"weight_g_idx"})
	}
	return r, ""
}

// compressedGroup returns the one group that the rules are about, and its format.
func compressedGroup(d checkpoint.Declaration) (format string, group gjson.Result, why string) {
	format = d.Fields.Get("format").Str
	d.Fields.Get("config_groups").ForEach(func(_, g gjson.Result) bool {
		f := cmp.Or(g.Get("format").Str, format)
		if group.Exists() && (f != format || g.Get("weights").Raw != group.Get("weights").Raw) {
			why = "several groups that differ are not covered"
		}
		format, group = f, g
		return true
	})
	if s := d.Fields.Get("sparsity_config.format").Str; s != "" && s != "dense" {
		why = fmt.Sprintf("the sparse format %q is not covered", s)
	}
	return format, group, why
}

// targets returns which modules a group means, nil for every linear layer.
func targets(group gjson.Result) func(string) bool {
	list := group.Get("targets").Array()
	for _, t := range list {
		if t.Str == "Linear" || t.Str == "LinearBase" || t.Str == "FusedMoE" {
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	m := matching(list)
	return m.loosely
}

func (r *rules) packed(weights gjson.Result) {
	bits, group := weights.Get("num_bits").Int(), weights.Get("group_size").Int()
	r.weight = "weight_packed"
	r.needs = [][]string{{"weight_scale"}, {"weight_shape"}}
	r.marks = []string{"weight_packed", "weight_scale", "weight_shape", "weight_zero_point", "weight_g_idx"}
	r.dtypes = map[string][]checkpoint.DType{
		"weight_packed": {"I32"}, "weight_scale": scaleTypes, "weight_shape": {"I64", "I32"}, "weight_zero_point": {"I32", "I8"},
	}
	r.shape = func(shape func(string) []int64) string {
		p, s := shape("weight_packed"), shape("weight_scale")
		if n := shape("weight_shape"); n != nil && product(n) != 2 {
			return fmt.Sprintf("weight_shape is %v, want [2]", n)
		}
		if len(p) != 2 || len(s) != 2 || bits <= 0 || bits > 8 {
			return ""
		}
		groups := int64(1)
		if group > 0 {
			// K is known to within one packed word; the groups bound it from above.
			groups = cdiv(p[1]*32/bits, group)
		}
		return differ("weight_scale", s, []int64{p[0], groups}, p)
	}
}

func (r *rules) unpacked(format string, weights, act gjson.Result) {
	r.needs = [][]string{{"weight_scale"}}
	r.marks = []string{"weight_scale", "weight_zero_point", "input_scale", "weight_g_idx"}
	if act.IsObject() && !act.Get("dynamic").Bool() && act.Get("dynamic").Str != "local" {
		r.needs = append(r.needs, []string{"input_scale"})
	}
	kinds := []checkpoint.DType{"F8_E4M3"}
	if format == "int-quantized" || format == "naive-quantized" && weights.Get("type").Str == "int" {
		kinds = []checkpoint.DType{"I8"}
	}
	r.dtypes = map[string][]checkpoint.DType{"weight": kinds, "weight_scale": scaleTypes, "input_scale": scaleTypes}
	r.shape = scalarShape("weight_scale")
	switch block := weights.Get("block_structure").Array(); {
	case weights.Get("strategy").Str == "block" && len(block) == 2 && block[0].Int() > 0 && block[1].Int() > 0:
		r.shape = blockShape("weight_scale", block[0].Int(), block[1].Int())
	case weights.Get("strategy").Str == "group":
		r.shape = blockShape("weight_scale", 1, max(weights.Get("group_size").Int(), 1))
	case weights.Get("strategy").Str == "block":
		r.shape = nil
	}
}

func (r *rules) nvfp4(act gjson.Result) {
	r.weight = "weight_packed"
	r.needs = [][]string{{"weight_scale"}, {"weight_global_scale"}}
	if act.IsObject() {
		r.needs = append(r.needs, []string{"input_global_scale"})
	}
	r.marks = []string{"weight_packed", "weight_scale", "weight_global_scale", "input_global_scale"}
	r.dtypes = map[string][]checkpoint.DType{
		"weight_packed": {"U8"}, "weight_scale": {"F8_E4M3"}, "weight_global_scale": {"F32"}, "input_global_scale": {"F32"},
	}
	r.shape = nvfp4Shape("weight_packed", "weight_scale")
}

// nvfp4Shape wants one scale for each 16 values, which take 8 bytes.
func nvfp4Shape(weight, scale string) func(func(string) []int64) string {
	return func(shape func(string) []int64) string {
		p, s := shape(weight), shape(scale)
		if len(p) < 2 || s == nil {
			return ""
		}
		want := append(append([]int64{}, p[:len(p)-1]...), cdiv(p[len(p)-1], 8))
		return differ(scale, s, want, p)
	}
}
