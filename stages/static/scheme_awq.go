package static

import (
	"cmp"
	"fmt"

	"infbench/stages/checkpoint"
)

// AWQ: the same parts as GPTQ, but the output dimension is packed, so qweight is
// [K, N/8]; zero points are needed by most kernels whatever zero_point says.
var _ = addScheme(scheme{
	methods: []string{"awq"},
	rules:   awqRules,
	marks:   []string{"qweight", "qzeros"},
})

func awqRules(d checkpoint.Declaration) (rules, string) {
	bits := cmp.Or(d.Fields.Get("bits").Int(), d.Fields.Get("w_bit").Int(), 4)
	group := cmp.Or(d.Fields.Get("group_size").Int(), d.Fields.Get("q_group_size").Int(), 128)
	r := rules{
		weight:  "qweight",
		needs:   [][]string{{"qzeros"}, {"scales"}},
		marks:   []string{"qweight", "qzeros", "scales"},
		exclude: excluded(d, "modules_to_not_convert"),
	}
	switch version := cmp.Or(d.Fields.Get("version").Str, "gemm"); version {
	case "gemm", "GEMM":
		r.dtypes = map[string][]checkpoint.DType{"qweight": {"I32"}, "qzeros": {"I32"}, "scales": scaleTypes}
		r.shape = awqShape(bits, group)
	case "gemv", "GEMV", "exllama", "gemv_fast", "llm-awq", "marlin":
		// Presence is the same in every layout; shapes are looked at in gemm alone.
	default:
		return r, "version " + version + " is not covered"
	}
	return r, ""
}

func awqShape(bits, group int64) func(func(string) []int64) string {
	return func(shape func(string) []int64) string {
		q, s, z := shape("qweight"), shape("scales"), shape("qzeros")
		if len(q) != 2 || bits <= 0 || bits > 8 {
			return ""
		}
		k, n := q[0], q[1]*32/bits
		groups := int64(1)
		if group > 0 {
			groups = cdiv(k, group)
		}
		switch {
		case len(s) == 2 && s[1] == q[1] && s[1] != n:
			return fmt.Sprintf("qweight %v and scales %v are packed as GPTQ packs them", q, s)
		case len(s) == 2 && (s[0] != groups || s[1] != n):
			return fmt.Sprintf("scales are %v, want %v for a qweight %v in groups of %d", s, []int64{groups, n}, q, group)
		case len(z) == 2 && (z[0] != groups || z[1] != q[1]):
			return fmt.Sprintf("qzeros are %v, want %v for a qweight %v", z, []int64{groups, q[1]}, q)
		}
		return ""
	}
}
