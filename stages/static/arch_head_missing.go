package static

import (
	"context"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.head_missing",
	Doc: "a model whose head is not tied to the embedding stores one\n\nA tied head was left out of an export for a class that does not tie: " +
		"the engine built a random head and every answer was garbage.",
	Does:  whenTensorMissing,
	Since: since, Cost: pass,
	Modes:  []string{"arch.head_missing"},
	Faults: []string{"untied-by-default", "untied-no-head"},
	Causes: []string{"the exporter took the head for tied", "tie_word_embeddings was changed by hand", "the last shard's entries were lost"},
	Next:   []string{"check tie_word_embeddings against the base model", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if inv.Kind() == checkpoint.GGUFModel {
			return ggufDescribes, nil
		}
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		if _, f, ok := decoderOf(inv, c); !ok {
			return f, nil
		}
		tied, stated := c.Tied()
		head := headOf(inv)
		switch {
		case head != "":
			return gates.Pass("the head is %s", head), nil
		case stated && tied:
			return gates.Pass("the head is tied to the embedding, and none is stored"), nil
		case headless(c.Architectures()):
			return gates.NotApply("%s has no head for language", gates.Quote(c.Architectures()[0], 60)), nil
		case stated:
			return gates.Fail("tie_word_embeddings is false and none of %s holds a head", plural(len(inv.Names()), "tensor")), nil
		case slices.Contains(untiedByDefault, c.TextModelType()):
			return gates.Fail("%s does not tie by default and none of %s holds a head", c.TextModelType(), plural(len(inv.Names()), "tensor")), nil
		}
		return gates.Pass("no head is stored, and nothing says that it is not tied"), nil
	},
})

// headless reports whether a class by its name ends in something else than logits
// over the vocabulary, as embedders and reward models do.
func headless(classes []string) bool {
	if len(classes) == 0 {
		return false
	}
	for _, word := range []string{"CausalLM", "ConditionalGeneration", "LMHead", "Chat"} {
		if strings.Contains(classes[0], word) {
			return false
		}
	}
	return strings.HasSuffix(classes[0], "Model") || strings.Contains(classes[0], "Classification") || strings.Contains(classes[0], "Reward")
}
