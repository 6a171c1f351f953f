package static

import (
	"strings"

	"infbench/stages/checkpoint"
)

// MXFP4 as gpt-oss ships it: stacked experts as blocks and scales, the rest plain.
var _ = addScheme(scheme{
	methods: []string{"mxfp4"},
	rules:   mxfp4Rules,
	marks:   []string{"_blocks"},
})

func mxfp4Rules(d checkpoint.Declaration) (rules, string) {
	return rules{
		weight:  "_blocks",
		needs:   [][]string{{"_scales"}},
		marks:   []string{"_blocks", "_scales"},
		exclude: excluded(d, "modules_to_not_convert"),
		include: func(module string) bool { return strings.Contains(module, ".experts.") },
		dtypes:  map[string][]checkpoint.DType{"_blocks": {"U8"}, "_scales": {"U8"}},
		shape: func(shape func(string) []int64) string {
			b, s := shape("_blocks"), shape("_scales")
			if len(b) != 4 || s == nil {
				return ""
			}
			return differ("_scales", s, b[:3], b)
		},
	}, ""
}
