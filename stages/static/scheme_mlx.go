package static

import (
	"cmp"

	"infbench/stages/checkpoint"
)

// MLX: a module is quantised exactly if scales are stored for it, embeddings and
// head included; the affine mode adds biases, which are offsets and no bias.
var _ = addScheme(scheme{
	methods: []string{"mlx"},
	rules:   mlxRules,
})

func mlxRules(d checkpoint.Declaration) (rules, string) {
	r := rules{
		weight: "weight", plainAllowed: true,
		needs:  [][]string{{"scales"}},
		marks:  []string{"scales", "biases"},
		dtypes: map[string][]checkpoint.DType{"weight": {"U32"}},
	}
	bits, group := d.Fields.Get("bits").Int(), d.Fields.Get("group_size").Int()
	if mode := cmp.Or(d.Fields.Get("mode").Str, "affine"); mode == "affine" {
		r.needs = append(r.needs, []string{"biases"})
	}
	if bits <= 0 || bits > 8 || group <= 0 {
		return r, "bits and group_size are not stated"
	}
	return r, ""
}
