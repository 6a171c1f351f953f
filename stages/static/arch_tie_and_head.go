package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.tie_and_head",
	Doc: "a model whose head is tied to the embedding stores no head\n\nEngines that honour tie_word_embeddings ignore a stored head: " +
		"if a fine-tune trained it apart, its training is lost, without a message.",
	Since: since, Cost: pass,
	Modes:  []string{"arch.tie_and_head"},
	Faults: []string{"tied-with-head"},
	Causes: []string{"a trainer saved the head although it is tied (then it is a copy and harmless)", "the head was trained apart and the flag left as it was"},
	Next:   []string{"compare the two tensors; if they differ set tie_word_embeddings to false", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		if _, f, ok := tensorNames(inv); !ok {
			return f, nil
		}
		tied, stated := c.Tied()
		head := headOf(inv)
		switch {
		case !stated || !tied:
			return gates.NotApply("config.json does not say that the head is tied"), nil
		case head != "":
			return gates.Warn("tie_word_embeddings is true and %s is stored: engines ignore it", head), nil
		}
		return gates.Pass("the head is tied, and none is stored"), nil
	},
})
