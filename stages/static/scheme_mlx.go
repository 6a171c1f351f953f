package static

import (
	"cmp"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// MLX: a module is quantised exactly if scales are stored for it, embeddings and
// head included; the affine mode adds biases, which are offsets and no bias.
var _ = addScheme(scheme{
	methods:  []string{"mlx"},
	declared: "config.json `quantization`: group_size, bits, mode; a module's own entry overrides them, or is false",
	variants: mlxVariants,
	rules:    mlxRules,
})

var mlxVariants = []variant{
	{name: "affine", when: "mode affine or none", parts: []part{
		{name: "weight", types: "U32", shape: "[N, K*bits/32]"},
		{name: "scales", types: scaleTypes, shape: "[N, K/g]"},
		{name: "biases", types: scaleTypes, shape: "[N, K/g]"},
	}},
	{name: "mxfp4", when: "mode mxfp4", parts: mlxFloat},
	{name: "mxfp8", when: "mode mxfp8", parts: mlxFloat},
	{name: "nvfp4", when: "mode nvfp4", parts: mlxFloat},
}

var mlxFloat = []part{
	{name: "weight", types: "U32", shape: "[N, K*bits/32]"},
	{name: "scales", types: "U8", shape: "[N, K/g]"},
}

// mlxUsual are the bits and group sizes of the modes that fix them.
var mlxUsual = map[string]letters{
	"affine": {}, "mxfp4": {"bits": 4, "g": 32}, "mxfp8": {"bits": 8, "g": 32}, "nvfp4": {"bits": 4, "g": 16},
}

func mlxRules(d checkpoint.Declaration) (rules, string) {
	r := rules{form: mlxForm(d.Fields, d.Fields), exclude: matching(nil)}
	own := map[string]form{}
	d.Fields.ForEach(func(k, v gjson.Result) bool {
		switch {
		case v.IsObject():
			own[k.Str] = mlxForm(v, d.Fields)
		case v.Type == gjson.False:
			r.exclude.add(k.Str)
		}
		return true
	})
	r.formOf = named(own)
	if r.form.unsure != "" && len(own) == 0 {
		return r, r.form.unsure
	}
	return r, ""
}

func mlxForm(own, whole gjson.Result) form {
	mode := cmp.Or(own.Get("mode").Str, whole.Get("mode").Str, "affine")
	known, ok := mlxUsual[mode]
	if !ok {
		return notCovered("mode %s is not covered", mode)
	}
	known = known.clone()
	for letter, n := range packing(own, whole) {
		known[letter] = n
	}
	if known["bits"] <= 0 || known["g"] <= 0 {
		return notCovered("bits and group_size are not stated")
	}
	f := variantOf(mlxVariants, mode).form(whole, known)
	f.plainAllowed = true
	return f
}

// named returns the forms of modules that are named in full, or without what wraps
// the model; nil when there are none.
func named(own map[string]form) func(string) *form {
	if len(own) == 0 {
		return nil
	}
	at := make(map[string]*form, len(own))
	for name, f := range own {
		at[name], at[unwrap(name)] = &f, &f
	}
	return func(module string) *form {
		if f := at[module]; f != nil {
			return f
		}
		return at[unwrap(module)]
	}
}
