package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.no_model_type",
	Doc: "config.json states model_type\n\nWithout it loaders that choose the architecture by model_type fail, " +
		"and so does every rule here that depends on the family.",
	Since: since, Cost: glance,
	Modes:  []string{"cfg.no_model_type"},
	Faults: []string{"absent", "nested-only"},
	Causes: []string{"a hand-written or converted configuration", "only the nested text_config was saved with its type"},
	Next:   []string{"copy model_type from the base model's config.json", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		if t := c.ModelType(); t != "" {
			return gates.Pass("model_type is %s", gates.Quote(t, 40)), nil
		}
		if t := c.TextModelType(); t != "" {
			return gates.Warn("no model_type at the top level, only %s in the text model's part", gates.Quote(t, 40)), nil
		}
		return gates.Warn("no model_type in config.json"), nil
	},
})
