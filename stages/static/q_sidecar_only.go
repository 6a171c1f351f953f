package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.sidecar_only",
	Doc: "config.json declares the quantisation itself\n\nEngines read quantize_config.json and its like only when config.json already names the method: " +
		"a checkpoint that declares itself only there is loaded as unquantised, or not at all.",
	Does:  whenSidecarOnly,
	Since: since, Cost: glance,
	Modes:  []string{"q.sidecar_only"},
	Faults: []string{"quantize-config-only"},
	Causes: []string{"an older quantiser wrote only its own file"},
	Next:   []string{"copy the declaration into config.json as quantization_config, with quant_method", "or name the method to the engine (--quantization)", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if _, f, ok := config(inv); !ok {
			return f, nil
		}
		list := inv.Declarations()
		switch {
		case len(list) == 0:
			return gates.NotApply("nothing declares a quantisation"), nil
		case !list[0].InConfig && slices.Contains(ownFiles, list[0].Method):
			return gates.Pass("info: %s declares the quantisation, which is that method's own place; engines may want its name (%s)", list[0].Where, list[0].Method), nil
		case !list[0].InConfig:
			return gates.Warn("only %s declares the quantisation (%s), config.json does not", list[0].Where, gates.Quote(list[0].Method, 40)), nil
		}
		return gates.Pass("%s declares %s", list[0].Where, gates.Quote(list[0].Method, 40)), nil
	},
})

// ownFiles are the methods whose declaration never stands in config.json.
var ownFiles = []string{"modelslim", "quanto"}
