package static

import (
	"cmp"
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/ctx.rope",
	Doc: "the stated context is one that the position scaling reaches\n\nWith YaRN the context is factor times the original length. A larger one in " +
		"config.json is a promise that the positions do not keep: far tokens get angles that the model never saw.",
	Since: since, Cost: glance,
	Modes:  []string{"ctx.rope"},
	Faults: []string{"no-type", "no-factor", "shorter-than-stated", "types-differ"},
	Causes: []string{"max_position_embeddings or the factor was changed without the other", "rope_scaling was copied from another size of the model"},
	Next:   []string{"compare rope_scaling and max_position_embeddings with the base model's", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		r := c.Value("rope_scaling", "rope_parameters")
		if !r.IsObject() {
			return gates.NotApply("config.json scales no positions"), nil
		}
		kind, older := r.Get("rope_type").Str, r.Get("type").Str
		factor := r.Get("factor").Num
		switch {
		case kind != "" && older != "" && ropeName(kind) != ropeName(older):
			return gates.Warn("rope_type is %s, type is %s: engines read one or the other", gates.Quote(kind, 30), gates.Quote(older, 30)), nil
		case kind == "" && older == "" && factor > 0:
			return gates.Warn("a factor of %g without rope_type: engines do not know how to scale", factor), nil
		}
		kind = ropeName(cmp.Or(kind, older))
		if key := ropeNeeds[kind]; key != "" && !r.Get(key).Exists() {
			return gates.Warn("positions are scaled as %s without %s: engines stop at it, or do not scale", kind, key), nil
		}
		original, stated := r.Get("original_max_position_embeddings").Num, int64(0)
		if stated, ok = c.Count("max_position_embeddings"); kind != "yarn" || factor <= 0 || original <= 0 || !ok {
			return gates.Pass("positions are scaled as %s, which fixes no context", gates.Quote(cmp.Or(kind, "default"), 30)), nil
		}
		switch reach := factor * original; {
		case float64(stated) > reach*1.001: // factors are rounded
			return gates.Warn("%d positions are stated, %g times %g reaches %g", stated, factor, original, reach), nil
		case float64(stated) < reach*0.999:
			return gates.Pass("info: %d positions are stated, %g times %g reaches %g", stated, factor, original, reach), nil
		}
		return gates.Pass("%g times %g is the stated %d", factor, original, stated), nil
	},
})

// ropeNeeds are the keys without which a kind of scaling cannot be computed, as the
// validation in transformers' modeling_rope_utils.py has them.
var ropeNeeds = map[string]string{"linear": "factor", "yarn": "factor", "llama3": "factor", "longrope": "long_factor"}

// ropeName returns the present name of a kind of scaling; older files and newer ones
// call some of them differently.
func ropeName(kind string) string {
	switch kind {
	case "su":
		return "longrope"
	case "mrope": // a layout of the angles, no scaling
		return "default"
	}
	return kind
}
