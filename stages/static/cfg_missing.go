package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.missing",
	Doc: "config.json is there\n\nWithout it no engine knows which architecture to build. " +
		"Folders of adapters, of shards alone and half-finished downloads lack it.",
	Since: since, Cost: glance,
	Modes:  []string{"cfg.missing"},
	Faults: []string{"no-config"},
	Causes: []string{"the download stopped before the small files", "the folder is an adapter's, or one level too high or too deep"},
	Next:   []string{"download config.json from the same revision as the weights", again},
	Run:    configMissing,
})

func configMissing(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	if inv.Kind() == checkpoint.GGUFModel {
		return ggufDescribes, nil
	}
	if inv.Config().Listed() {
		return gates.Pass("config.json is there"), nil
	}
	if inv.Kind() != checkpoint.Folder {
		return gates.Skip("only the %s was given, and no config.json lies beside it: quantisation and architecture were not verified", inv.Kind()).
			Then("put config.json of the same revision beside it, and run this again"), nil
	}
	f := gates.Fail("no config.json among %s", plural(len(inv.Files()), "file"))
	if n := len(inv.Broken()); n > 0 {
		f = f.With("%s: %s", plural(n, "link")+" lead nowhere", some(inv.Broken()))
	}
	return f, nil
}
