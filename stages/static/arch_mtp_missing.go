package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.mtp_missing",
	Doc: "declared layers for multi-token prediction are stored\n\nA pruned model kept the count and lost the layers: speculation would run on a random block, " +
		"which costs time and accepts nothing.",
	Since: since, Cost: pass,
	Modes:  []string{"arch.mtp_missing"},
	Faults: []string{"declared-not-stored"},
	Causes: []string{"the layers were dropped in pruning or conversion", "they are in a side file outside the index"},
	Next:   []string{"do not turn on speculative decoding with this checkpoint", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		s, f, ok := decoderOf(inv, c)
		if !ok {
			return f, nil
		}
		n, layers := extraLayers(c), int64(0)
		if layers, ok = c.Layers(); n == 0 || !ok {
			return gates.NotApply("config.json declares no multi-token prediction"), nil
		}
		if s.Layer(int(layers)) != nil || slices.ContainsFunc(inv.Modules(), func(m checkpoint.Module) bool { return isMTP(m.Name) }) {
			return gates.Pass("%s of multi-token prediction declared and stored", plural(int(n), "layer")), nil
		}
		return gates.Warn("%s of multi-token prediction declared, none of %s belongs to one", plural(int(n), "layer"), plural(len(inv.Names()), "tensor")), nil
	},
})
