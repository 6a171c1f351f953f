package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.layers",
	Doc: "the decoder's layers are exactly those that the configuration counts\n\nA configuration that said 25 layers met a checkpoint of 24: " +
		"the last layer stayed random and no error was raised. Layers for multi-token prediction may follow the decoder's own.",
	Does:  whenTensorMissing,
	Since: since, Cost: pass,
	Modes:  []string{"arch.layers"},
	Faults: []string{"gguf", "last-layer-absent", "middle-layer-absent", "too-many"},
	Causes: []string{"num_hidden_layers was changed or copied from another size", "layers were pruned or shards lost"},
	Next:   []string{"compare config.json with the base model's", again},
	Run:    archLayers,
})

func archLayers(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	if len(inv.Names()) == 0 && !inv.Index().Listed() {
		// Nothing to look at is no pass: the layers are there or not, and nobody knows.
		return gates.Skip("neither an index nor a shard header is here: what the checkpoint holds is not known"), nil
	}
	s, f, ok := decoderOf(inv, c)
	if !ok {
		return f, nil
	}
	want, stated := c.Layers()
	if !stated {
		return gates.NotApply("config.json does not count its layers"), nil
	}
	var absent, surplus []int
	for i := range int(min(want, 1<<16)) {
		if s.Layer(i) == nil {
			absent = append(absent, i)
		}
	}
	extra := extraLayers(c)
	for _, l := range s.Layers {
		if int64(l.Number) >= want+extra {
			surplus = append(surplus, l.Number)
		}
	}
	switch {
	case len(absent) > 0:
		return gates.Fail("%d of %d layers of %s have no tensor: %s", len(absent), want, s.Prefix, ranges(absent)), nil
	case len(surplus) > 0:
		return gates.Fail("config.json counts %d layers, %s has more: %s", want, s.Prefix, ranges(surplus)), nil
	}
	return gates.Pass("%s holds layers 0-%d", s.Prefix, want-1), nil
}

// decoderOf returns the decoder's stack, or why there is none to judge.
func decoderOf(inv checkpoint.Inventory, c checkpoint.Config) (*checkpoint.Stack, gates.Finding, bool) {
	if _, f, ok := tensorNames(inv); !ok {
		return nil, f, false
	}
	if c.EncoderDecoder() {
		return nil, gates.NotApply("an encoder-decoder is no causal language model"), false
	}
	if !inv.Index().Readable() && inv.Weights().Presence() != checkpoint.Complete {
		return nil, gates.NotApply("without an index the names are not all known"), false
	}
	if s := decoder(inv); s != nil {
		return s, gates.Finding{}, true
	}
	return nil, gates.NotApply("no stack of decoder layers is among the names"), false
}
