package static

import (
	"slices"
	"strings"

	"infbench/stages/checkpoint"
)

// headNames are the modules that turn the last hidden state into logits.
var headNames = []string{"lm_head", "output", "output_layer", "embed_out", "head"}

// headOf returns the name of the module that is the output head, "" when there is
// none.
func headOf(inv checkpoint.Inventory) string {
	for _, m := range inv.Modules() {
		last := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
		depth := strings.Count(m.Name, ".")
		if slices.Contains(headNames, last) && depth <= 3 && !isMTP(m.Name) || strings.HasSuffix(m.Name, "transformer.ff_out") {
			return m.Name
		}
	}
	return ""
}

// untiedByDefault are the model types whose class keeps the head apart unless
// told otherwise; the base class of configurations ties.
var untiedByDefault = []string{
	"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "phi3", "internlm2",
	"deepseek_v2", "deepseek_v3", "stablelm", "olmo", "olmo2",
}

// embeddingNames are the modules of the input embedding.
var embeddingNames = []string{"embed_tokens", "word_embeddings", "tok_embeddings", "wte"}

// embeddingOf returns the input embedding's weight as its header describes it.
func embeddingOf(inv checkpoint.Inventory) (checkpoint.Tensor, bool) {
	for _, m := range inv.Modules() {
		last := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
		if slices.Contains(embeddingNames, last) && m.Has("weight") && !isMTP(m.Name) {
			return inv.Tensor(m.Tensor("weight"))
		}
	}
	return checkpoint.Tensor{}, false
}
