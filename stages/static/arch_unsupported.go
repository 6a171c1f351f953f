package static

import (
	"context"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.unsupported",
	Doc: "the model is a causal language model\n\nEncoder-decoders, embedders, rerankers and reward models answer no chat, and the rules for layers " +
		"and heads are not about them. That is recorded; it is a reservation when the question is about serving chat.",
	Since: since, Cost: glance,
	Modes:  []string{"arch.unsupported"},
	Faults: []string{"chat-wanted"},
	Causes: []string{"an embedding or reward model, or an encoder-decoder"},
	Next:   []string{"serve it under the engine's task for such models (--task embed, --task reward)", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		what := ""
		switch {
		case c.EncoderDecoder():
			what = "an encoder-decoder"
		case headless(c.Architectures()):
			what = "a model without a head for language"
		default:
			return gates.Pass("nothing says that it is no causal language model"), nil
		}
		name := gates.Quote(strings.Join(c.Architectures(), ", "), 60)
		if inv.Serving() {
			return gates.Warn("%s is %s: it answers no chat, and its completeness is not verified", name, what), nil
		}
		return gates.Pass("info: %s is %s: its completeness is not verified", name, what), nil
	},
})
