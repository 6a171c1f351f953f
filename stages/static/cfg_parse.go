package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.parse",
	Doc: "config.json is one JSON object\n\nA committed merge conflict, a cut download or an HTML error page saved " +
		"under its name stop every engine at start.",
	Since: since, Cost: glance,
	Modes:  []string{"cfg.parse"},
	Faults: []string{"cut-off", "merge-conflict", "not-an-object", "too-deep"},
	Causes: []string{"a download that stopped or that saved an error page", "an unresolved version-control merge"},
	Next:   []string{"download config.json again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c := inv.Config()
		p, broken := c.Problem()
		switch {
		case broken && p.Flaw == checkpoint.FlawPointer:
			return gates.NotApply("config.json is a Git LFS pointer: see static/cfg.pointer"), nil
		case broken:
			return gates.Fail("config.json: %s", p.Detail), nil
		case !c.Readable():
			return gates.NotApply("no config.json is here"), nil
		}
		return gates.Pass("config.json is one JSON object"), nil
	},
})
