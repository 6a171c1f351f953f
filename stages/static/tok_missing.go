package static

import (
	"context"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/tok.missing",
	Doc: "a tokenizer is there\n\nEngines that find none fall back to another model's or refuse to start; " +
		"trainers that save only weights leave it out.",
	Since: since, Cost: glance,
	Modes:  []string{"tok.missing"},
	Faults: []string{"config-only", "no-tokenizer", "page-for-a-tokenizer", "pointer-for-a-tokenizer"},
	Causes: []string{"only the model was saved, not the tokenizer", "the download was filtered to *.safetensors"},
	Next:   []string{"copy the tokenizer's files from the base model", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() != checkpoint.Folder {
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		}
		if broken := inv.Tokenizer().Broken(); len(broken) > 0 {
			f := gates.Warn("a file of the tokenizer cannot be read: %s", gates.Printable(broken[0], 160))
			for _, b := range broken {
				f = f.With("%s", b)
			}
			return f, nil
		}
		if files := inv.Tokenizer().Files(); len(files) > 0 {
			return gates.Pass("the tokenizer is %s", strings.Join(files, ", ")), nil
		}
		if _, ok := inv.File("tokenizer_config.json"); ok {
			return gates.Warn("tokenizer_config.json without a vocabulary beside it"), nil
		}
		return gates.Warn("none of %s is a tokenizer's", plural(len(inv.Files()), "file")), nil
	},
})
