package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.unknown",
	Doc: "the architecture is one whose checkpoints are known\n\nFor a family without a rule of its own only layers can be compared with each " +
		"other: a tensor that all of them lack is not missed. That is recorded, so that nobody takes silence for completeness.",
	Since: since, Cost: glance,
	Modes:  []string{"arch.unknown"},
	Faults: []string{"nothing-tells"},
	Causes: []string{"model_type and architectures were left out of a hand-written config.json"},
	Next:   []string{"copy model_type and architectures from the base model", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		kind := c.TextModelType()
		switch _, fam := familyOf(c); {
		case kind == "" && len(c.Architectures()) == 0 && decoder(inv) == nil:
			return gates.Warn("neither model_type nor architectures nor the tensors' names tell what this is"), nil
		case fam != nil:
			return gates.Pass("%s has rules for names and shapes", c.ModelType()), nil
		case decoder(inv) == nil:
			return gates.Pass("info: no rule for %s, and no row of decoder layers among the names: completeness is not verified", gates.Quote(kind, 40)), nil
		}
		return gates.Pass("info: no rule for %s: its layers are compared with each other, a tensor that all lack is not missed", gates.Quote(kind, 40)), nil
	},
})
