package static

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/tok.id_range",
	Doc: "every added token has a row in the embedding\n\nA pad token 32000 on 32,000 rows is a device-side index error, or garbage, the first time that a batch is padded. " +
		"Models with a second embedding table for added tokens are excepted.",
	Since: since, Cost: pass,
	Modes:  []string{"tok.id_range"},
	Faults: []string{"eos-out-of-range", "header-rows", "image-out-of-range", "pad-out-of-range"},
	Causes: []string{"tokens were added and the embedding was not resized"},
	Next:   []string{"resize the embedding, or remove the added tokens from the tokenizer", again},
	Run:    tokIDRange,
})

func tokIDRange(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	added := slices.Concat(inv.Tokenizer().Added(), namedIDs(inv))
	if len(added) == 0 {
		return gates.NotApply("the small files list no added token"), nil
	}
	rows, source := int64(0), "vocab_size"
	if t, here := embeddingOf(inv); here && t.DType.Plain() && len(t.Shape) == 2 {
		rows, source = t.Shape[0], t.Name
	} else if n, ok := inv.Config().Vocab(); ok {
		rows = n
	} else {
		return gates.NotApply("the number of embedding rows is not known"), nil
	}
	second := func(name string) bool {
		return strings.HasSuffix(name, "new_embedding") || strings.Contains(name, "additional_embedding")
	}
	if slices.ContainsFunc(inv.Names(), second) {
		return gates.NotApply("a second embedding table serves added tokens"), nil
	}
	var out []string
	for _, a := range added {
		if a.ID >= rows {
			out = append(out, fmt.Sprintf("%s = %d", gates.Quote(a.Text, 40), a.ID))
		}
	}
	if len(out) > 0 {
		return gates.Warn("%d of %s at or above the %d rows of %s: %s", len(out), plural(len(added), "special id"), rows, source, some(out)), nil
	}
	highest := int64(0)
	for _, a := range added {
		highest = max(highest, a.ID)
	}
	return gates.Pass("the highest added id is %d, %s has %d rows", highest, source, rows), nil
}

// namedIDs are the special ids that the configurations name.
func namedIDs(inv checkpoint.Inventory) []checkpoint.AddedToken {
	var out []checkpoint.AddedToken
	for _, d := range []checkpoint.Doc{inv.Config().Doc, inv.Generation()} {
		for _, key := range []string{"eos_token_id", "bos_token_id", "pad_token_id", "image_token_id", "image_token_index", "video_token_id", "audio_token_id"} {
			for _, id := range d.IDs(key) {
				out = append(out, checkpoint.AddedToken{ID: id, Text: key, File: d.Name()})
			}
		}
	}
	return out
}
