package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/tok.no_template",
	Doc: "a chat template is there\n\nWithout one chat requests are refused or, worse, formatted by a default that the model was not trained on. " +
		"Base models have none, so this is only recorded unless the question is about serving chat.",
	Since: since, Cost: glance,
	Modes:  []string{"tok.no_template"},
	Faults: []string{"chat-wanted", "gguf"},
	Causes: []string{"a base model", "the template was lost on saving, or is in a file that the engine does not read"},
	Next:   []string{"give the engine a template (--chat-template), or copy chat_template.jinja from the base model", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if k := inv.Kind(); k != checkpoint.Folder && k != checkpoint.GGUFModel {
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		}
		switch where := inv.Tokenizer().Template(); {
		case where != "":
			return gates.Pass("the chat template is in %s", where), nil
		case inv.Serving():
			return gates.Warn("no chat template among the tokenizer's files or metadata"), nil
		}
		return gates.Pass("info: no chat template, so chat requests need one given to the engine"), nil
	},
})
