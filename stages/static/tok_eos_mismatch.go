package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/tok.eos_mismatch",
	Doc: "the tokenizer's end token is among those that generation stops on\n\nEngines stop on the ids of generation_config.json and config.json; " +
		"when a turn ends with another one, answers never end (Qwen, Llama 3 and Granite fine-tunes).",
	Since: since, Cost: glance,
	Modes:  []string{"tok.eos_mismatch"},
	Faults: []string{"generation-differs", "nested-config-differs"},
	Does:   whenNeverEnding,
	Causes: []string{"a chat fine-tune changed the tokenizer and not generation_config.json", "generation_config.json comes from the base model"},
	Next:   []string{"add the tokenizer's end id to eos_token_id in generation_config.json", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		text, id := inv.Tokenizer().EOS()
		if id < 0 {
			return gates.NotApply("the small files do not tell the id of the end token"), nil
		}
		c := inv.Config()
		stops := slices.Concat(inv.Generation().IDs("eos_token_id"), c.IDs("eos_token_id"))
		if r := c.Value("eos_token_id"); r.Exists() && len(stops) == 0 {
			for _, e := range append(r.Array(), r) {
				if e.Num > 0 || e.Raw == "0" {
					stops = append(stops, e.Int())
				}
			}
		}
		switch {
		case len(stops) == 0:
			return gates.Pass("the tokenizer ends with %s = %d, nothing else is stated", gates.Quote(text, 40), id), nil
		case slices.Contains(stops, id):
			return gates.Pass("the end token %s = %d is among the stops", gates.Quote(text, 40), id), nil
		}
		return gates.Warn("the tokenizer ends with %s = %d, generation stops on %v", gates.Quote(text, 40), id, slices.Compact(slices.Sorted(slices.Values(stops)))), nil
	},
})
