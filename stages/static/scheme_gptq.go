package static

import (
	"cmp"
	"fmt"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// GPTQ: the input dimension is packed, so qweight is [K*bits/32, N].
var _ = addScheme(scheme{
	methods: []string{"gptq"},
	rules:   gptqRules,
	marks:   []string{"qweight", "qzeros", "g_idx"},
})

func gptqRules(d checkpoint.Declaration) (rules, string) {
	bits, group := d.Fields.Get("bits").Int(), d.Fields.Get("group_size")
	r := rules{
		weight: "qweight",
		needs:  [][]string{{"qzeros"}, {"scales"}},
		marks:  []string{"qweight", "qzeros", "scales", "g_idx"},
		dtypes: map[string][]checkpoint.DType{
			"qweight": {"I32"}, "qzeros": {"I32"}, "g_idx": {"I32"}, "scales": scaleTypes,
		},
		exclude: excluded(d, "modules_to_not_convert"),
		include: gptqBlocks(d),
		shape:   gptqShape(bits, group.Int()),
	}
	if format := cmp.Or(d.Fields.Get("checkpoint_format").Str, d.Fields.Get("format").Str); format == "marlin" || format == "bitblas" || format == "qqq" {
		return r, "the serialised format " + format + " is not covered"
	}
	if d.Fields.Get("desc_act").Bool() && group.Int() > 0 {
		// Without it the groups of an act-order checkpoint are read in file order.
		r.needs = append(r.needs, []string{"g_idx"})
	}
	d.Fields.Get("dynamic").ForEach(func(k, v gjson.Result) bool {
		if pattern, off := strings.CutPrefix(k.Str, "-:"); off {
			r.exclude.addRegex(k.Str, pattern)
		} else if v.Get("bits").Exists() || v.Get("group_size").Exists() {
			r.shape = nil // widths differ from module to module
		}
		return true
	})
	return r, ""
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

func gptqShape(bits, group int64) func(func(string) []int64) string {
	return func(shape func(string) []int64) string {
		q, s, z, g := shape("qweight"), shape("scales"), shape("qzeros"), shape("g_idx")
		if len(q) != 2 || bits <= 0 || bits > 8 {
			return ""
		}
		k, n := q[0]*32/bits, q[1]
		groups := int64(1)
		if group > 0 {
			groups = cdiv(k, group)
		}
		switch {
		case len(s) == 2 && s[1] != n && s[1] == n*32/bits:
			return fmt.Sprintf("qweight %v and scales %v are packed as AWQ packs them", q, s)
		case len(s) == 2 && (s[0] != groups || s[1] != n):
			return fmt.Sprintf("scales are %v, want %v for a qweight %v in groups of %d", s, []int64{groups, n}, q, group)
		case len(z) == 2 && (z[0] != groups || z[1] != cdiv(n*bits, 32)):
			return fmt.Sprintf("qzeros are %v, want %v for a qweight %v", z, []int64{groups, cdiv(n*bits, 32)}, q)
		case len(g) == 1 && g[0] != k:
			return fmt.Sprintf("g_idx is %v, want [%d] for a qweight %v", g, k, q)
		}
		return ""
	}
}
