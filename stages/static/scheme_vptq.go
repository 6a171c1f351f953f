package static

import (
	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// VPTQ: indices into vectors of centroids, with a second table for the rest and one
// for outliers where the layer's own entry asks for them.
var _ = addScheme(scheme{
	methods:  []string{"vptq"},
	declared: "quantization_config: config_for_layers (layer to its own sizes), shared_layer_config; layers without an entry are plain",
	variants: vptqVariants,
	rules: func(d checkpoint.Declaration) (rules, string) {
		r := rules{form: vptqVariants[0].form(d.Fields, nil), exclude: excluded(d, "modules_to_not_convert")}
		layers := map[string]bool{}
		d.Fields.Get("config_for_layers").ForEach(func(k, _ gjson.Result) bool {
			layers[k.Str], layers[unwrap(k.Str)] = true, true
			return true
		})
		if len(layers) > 0 {
			r.include = func(module string) bool { return layers[module] || layers[unwrap(module)] }
		}
		return r, ""
	},
})

var vptqVariants = []variant{
	{name: "vptq", when: "always; the centroids are modules of their own below the layer in some versions", marks: "indices", parts: []part{
		{name: "indices"},
		{name: "centroids|centroids.weight"},
		{name: "res_centroids|res_centroids.weight", when: ifStored},
		{name: "res_indices", when: ifStored},
		{name: "outlier_centroids|outlier_centroids.weight", when: ifStored},
		{name: "outlier_indices", when: ifStored},
		{name: "perm", when: ifStored},
		{name: "weight_scale", when: ifStored},
		{name: "weight_bias", when: ifStored},
	}},
}
