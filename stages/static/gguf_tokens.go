package static

import (
	"context"
	"fmt"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/gguf.tokens",
	Doc: "the vocabulary in a GGUF model is whole, and its special tokens are inside it\n\nAn end token outside the vocabulary is never produced, so answers never end; " +
		"lists of types or scores of another length are read past their end.",
	Since: since, Cost: glance,
	Modes:   []string{"gguf.tokens"},
	Faults:  []string{"eos-outside", "no-eos", "types-too-few"},
	Engines: []string{"llama.cpp"},
	Does:    whenVocabularyBroken,
	Causes:  []string{"the tokenizer was edited after the conversion", "the conversion took the tokenizer of another model"},
	Next:    []string{"convert the checkpoint again with its own tokenizer", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		m, f, ok := gguf(inv)
		if !ok {
			return f, nil
		}
		const prefix = "tokenizer.ggml."
		n := m.Length(prefix + "tokens")
		if n < 0 {
			return gates.Skip("not verified: the file has no list of tokens (tokenizer %s)", gates.Quote(m.Text(prefix+"model"), 40)), nil
		}
		var bad []string
		for _, list := range []string{"token_type", "scores"} {
			if l := m.Length(prefix + list); l >= 0 && l != n {
				bad = append(bad, fmt.Sprintf("%s has %d entries for %d tokens", list, l, n))
			}
		}
		for _, key := range []string{"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id", "unknown_token_id", "padding_token_id"} {
			// Writers state "none" as -1 or as the largest number.
			if id, ok := m.Number(prefix + key); ok && id >= float64(n) && id < 1<<32-1 {
				bad = append(bad, fmt.Sprintf("%s is %.0f, the last token is %d", key, id, n-1))
			}
		}
		if len(bad) > 0 {
			f = gates.Fail("%s", bad[0])
			for _, b := range bad {
				f = f.With("%s", b)
			}
			return f, nil
		}
		if !m.Has(prefix+"eos_token_id") && !m.Has(prefix+"eot_token_id") {
			return gates.Warn("no end token is stated: the engine's default for tokenizer %s ends answers, or nothing does", gates.Quote(m.Text(prefix+"model"), 40)), nil
		}
		return gates.Pass("%d tokens, special ones inside", n), nil
	},
})
