package static

import (
	"strings"

	"infbench/stages/checkpoint"
)

// MXFP4 as gpt-oss ships it: stacked experts as blocks and scales, the rest plain.
var _ = addScheme(scheme{
	methods:  []string{"mxfp4", "gpt_oss_mxfp4"},
	declared: "quantization_config; exclusions in modules_to_not_convert, with wildcards",
	variants: mxfp4Variants,
	rules:    mxfp4Rules,
	marks:    []string{"_blocks"},
})

var mxfp4Variants = []variant{
	{name: "gpt-oss", when: "always; E experts stacked, B blocks of 32 values each", parts: []part{
		{name: "_blocks", types: "U8", shape: "[E, N, B, 16]"},
		{name: "_scales", types: e8m0, shape: "[E, N, B]"},
	}},
}

func mxfp4Rules(d checkpoint.Declaration) (rules, string) {
	return rules{
		form:    mxfp4Variants[0].form(d.Fields, nil),
		exclude: excluded(d, "modules_to_not_convert"),
		include: func(module string) bool { return strings.Contains(module, ".experts.") },
	}, ""
}
