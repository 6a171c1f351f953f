package static

import (
	"context"
	"fmt"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// counted are the keys whose values must be counts of something.
var counted = []string{
	"num_hidden_layers", "n_layer", "num_layers", "hidden_size", "n_embd", "num_attention_heads", "n_head", "num_key_value_heads", "head_dim",
	"intermediate_size", "vocab_size", "max_position_embeddings",
}

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.counts",
	Doc: "the sizes in config.json are whole numbers above zero\n\nA layer count of 0, \"6\" or 6.5 stops one engine at start and is read as a default by the next; " +
		"here it also takes the ground from every check that compares shapes with it.",
	Since: "0.2.0", Cost: glance,
	Modes:  []string{"cfg.counts"},
	Faults: []string{"layers-as-text", "negative-width", "no-layer", "two-layer-counts"},
	Causes: []string{"config.json was written or edited by hand"},
	Next:   []string{"copy the value from the base model's config.json", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		var bad []string
		looked := 0
		for _, part := range []gjson.Result{c.Get("@this"), c.Text()} {
			seen := map[string]string{}
			part.ForEach(func(k, v gjson.Result) bool {
				if was, twice := seen[k.Str]; twice && was != v.Raw && isCounted(k.Str) {
					bad = append(bad, fmt.Sprintf("%s is there twice, as %s and as %s", k.Str, gates.Printable(was, 20), gates.Printable(v.Raw, 20)))
				}
				seen[k.Str] = v.Raw
				return true
			})
			for _, key := range counted {
				v := part.Get(key)
				if !v.Exists() || v.Type == gjson.Null || v.IsArray() { // one for each layer, in some models
					continue
				}
				looked++
				if v.Type != gjson.Number || v.Num < 1 || v.Num >= 1<<31 || v.Num != float64(int64(v.Num)) {
					bad = append(bad, fmt.Sprintf("%s is %s", key, gates.Printable(v.Raw, 40)))
				}
			}
		}
		switch {
		case len(bad) > 0:
			f = gates.Fail("%s", bad[0])
			for _, b := range bad {
				f = f.With("%s", b)
			}
			return f, nil
		case looked == 0:
			return gates.NotApply("no size is stated under a usual name"), nil
		}
		return gates.Pass("%s are counts", plural(looked, "size")), nil
	},
})

func isCounted(key string) bool {
	for _, k := range counted {
		if k == key {
			return true
		}
	}
	return false
}
