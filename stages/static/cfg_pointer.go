package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.pointer",
	Doc: "config.json is the file itself, not a Git LFS pointer\n\nA clone without Git LFS leaves three lines of text in the " +
		"place of each large file; engines then report a parse error that names neither cause nor cure.",
	Since: since, Cost: glance,
	Modes:  []string{"cfg.pointer"},
	Faults: []string{"pointer"},
	Causes: []string{"the repository was cloned without Git LFS"},
	Next:   []string{"git lfs pull", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c := inv.Config()
		p, broken := c.Problem()
		switch {
		case broken && p.Flaw == checkpoint.FlawPointer:
			return gates.Fail("config.json: %s", p.Detail), nil
		case !c.Readable() && !broken:
			return gates.NotApply("no config.json is here"), nil
		}
		return gates.Pass("config.json is no pointer"), nil
	},
})
