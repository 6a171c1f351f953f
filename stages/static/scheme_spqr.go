package static

import (
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// SpQR: dense weights and sparse outliers. Its declaration has the shape of every
// tensor, so it is an index of its own.
var _ = addScheme(scheme{
	methods:  []string{"spqr"},
	declared: "quantization_config: bits, beta1, beta2, shapes (every quantised tensor); exclusions in modules_to_not_convert",
	variants: spqrVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		return rules{form: spqrVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}, ""
	},
	listed: func(all []checkpoint.Declaration) []string {
		var out []string
		all[0].Fields.Get("shapes").ForEach(func(k, _ gjson.Result) bool {
			out = append(out, strings.TrimSuffix(k.Str, ".shape"))
			return true
		})
		return out
	},
	marks: []string{"dense_weights"},
})

var spqrVariants = []variant{
	{name: "spqr", when: "always", parts: []part{
		{name: "dense_weights"},
		{name: "row_offsets"},
		{name: "col_vals"},
		{name: "in_perm", when: ifStored},
	}},
}
