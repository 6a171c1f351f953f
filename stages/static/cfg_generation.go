package static

import (
	"context"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.generation",
	Doc: "generation_config.json, where there is one, can be read\n\nEngines take their defaults for sampling from it, often without a word: a " +
		"temperature in it becomes the server's, and one that cannot be read is skipped, with its stops. Absent it is only recorded.",
	Since: since, Cost: glance,
	Modes:  []string{"cfg.generation"},
	Faults: []string{"broken", "pointer"},
	Causes: []string{"a download that stopped", "a clone without Git LFS"},
	Next:   []string{"download generation_config.json again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		g := inv.Generation()
		if p, broken := g.Problem(); broken {
			return gates.Warn("%s cannot be read: %s", g.Name(), p), nil
		}
		switch {
		case inv.Kind() != checkpoint.Folder:
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		case !g.Listed():
			return gates.Pass("info: no generation_config.json: engines use their own defaults for sampling"), nil
		case !g.Readable():
			return gates.NotApply("generation_config.json is listed but not here"), nil
		}
		var stated []string
		for _, k := range samplingKeys {
			if r := g.Get(k); r.Exists() && r.Type != gjson.Null {
				stated = append(stated, k+" "+gates.Printable(r.Raw, 20))
			}
		}
		if len(stated) > 0 {
			return gates.Pass("info: it sets a server's defaults for sampling: %s", strings.Join(stated, ", ")), nil
		}
		return gates.Pass("it sets no defaults for sampling"), nil
	},
})

// samplingKeys are the settings that servers take over as defaults.
var samplingKeys = []string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens"}
