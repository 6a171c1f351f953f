package static

import (
	"context"
	"fmt"
	"regexp"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.kv_scales",
	Doc: "a declared scheme of the key-value cache has its scales\n\nAbsent scales mean 1.0 and one warning in a log: fine for many models, several " +
		"points of accuracy for others (a 70B went from perplexity 2.73 to 2.89).",
	Does:  whenCacheUnscaled,
	Since: since, Cost: pass,
	Modes:  []string{"q.kv_scales"},
	Faults: []string{"none-stored", "some-layers"},
	Causes: []string{"the cache's scheme was declared and never calibrated", "scales were dropped in a conversion"},
	Next:   []string{"calibrate the cache's scales, or serve with an unquantised cache", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		scheme := ""
		for _, d := range inv.Declarations() {
			if s := cacheScheme(d); s != "" {
				scheme = s
				break
			}
		}
		if scheme == "" {
			return gates.NotApply("no quantised key-value cache is declared"), nil
		}
		if _, f, ok := tensorNames(inv); !ok {
			return f, nil
		}
		s := decoder(inv)
		if s == nil {
			return gates.NotApply("no stack of decoder layers is among the names"), nil
		}
		var bare []string
		scaled, attention := 0, 0
		for _, l := range s.Layers {
			switch k, v := cacheScales(l); {
			case k && v:
				scaled++
				attention++
			case k != v || hasKeys(l):
				attention++
				bare = append(bare, fmt.Sprintf("%s.%d.self_attn.k_scale/v_scale", s.Prefix, l.Number))
			}
		}
		switch {
		case attention == 0:
			return gates.NotApply("no layer with keys and values is among the names"), nil
		case scaled == 0:
			return gates.Warn("%s is declared and none of %s with keys and values has its scales: engines take 1.0", gates.Quote(scheme, 60), plural(attention, "layer")), nil
		case len(bare) > 0:
			return with(gates.Warn("%s is declared and %d of %s with keys and values lack scales", gates.Quote(scheme, 60), len(bare), plural(attention, "layer")), bare), nil
		}
		return gates.Pass("%s with keys and values have their scales", plural(scaled, "layer")), nil
	},
})

// cacheScheme returns what a declaration says of the key-value cache, "" when it
// leaves it as it is.
func cacheScheme(d checkpoint.Declaration) string {
	for _, key := range []string{"kv_cache_quant_algo", "quantization.kv_cache_quant_algo"} {
		if s := d.Fields.Get(key).Str; s != "" && s != "none" && s != "None" {
			return s
		}
	}
	for _, key := range []string{"kv_cache_scheme", "kv_cache_quant_config"} {
		r := d.Fields.Get(key)
		if r.IsObject() && len(r.Map()) > 0 && !r.Get("dynamic").Bool() {
			return key
		}
	}
	return ""
}

var (
	keyScale    = regexp.MustCompile(`(^|\.)(k_scale|k_proj\.output_scale|qkv_proj\.output_scale|kv_scale|k_cache\.scale)$`)
	valueScale  = regexp.MustCompile(`(^|\.)(v_scale|v_proj\.output_scale|qkv_proj\.output_scale|kv_scale|v_cache\.scale)$`)
	keyOfLayers = regexp.MustCompile(`(^|\.)(k_proj|qkv_proj|wqkv|query_key_value|kv_b_proj)\.`)
)

// cacheScales reports which scales of the cache a layer stores.
func cacheScales(l *checkpoint.Layer) (k, v bool) {
	for p := range l.Patterns {
		k = k || keyScale.MatchString(p)
		v = v || valueScale.MatchString(p)
	}
	return k, v
}

// hasKeys reports whether a layer makes keys and values of its own.
func hasKeys(l *checkpoint.Layer) bool {
	for p := range l.Patterns {
		if keyOfLayers.MatchString(p) {
			return true
		}
	}
	return false
}
