package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.embed_rows",
	Doc: "the embedding has a row for each id of the vocabulary\n\nToo few rows mean an index error on the device, or another tensor's memory as an " +
		"embedding, when such a token comes. More rows than ids are padding and normal.",
	Since: since, Cost: pass,
	Modes:  []string{"arch.embed_rows"},
	Faults: []string{"too-few-rows"},
	Causes: []string{"vocab_size was raised and the embedding was not resized", "the embedding was sliced for tensor parallelism and saved"},
	Next:   []string{"compare vocab_size with the shape of the embedding", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		vocab, stated := c.Vocab()
		t, here := embeddingOf(inv)
		switch {
		case !here:
			return gates.NotApply("the header of the shard with the embedding is not here"), nil
		case !stated:
			return gates.NotApply("config.json does not state the vocabulary's size"), nil
		case !t.DType.Plain() || len(t.Shape) != 2:
			return gates.NotApply("the embedding is stored as %s %v, so its rows are packed", t.DType, t.Shape), nil
		case t.Shape[0] < vocab:
			return gates.Fail("%s has %d rows, vocab_size is %d", t.Name, t.Shape[0], vocab), nil
		}
		return gates.Pass("%s has %d rows for %d ids", t.Name, t.Shape[0], vocab), nil
	},
})
