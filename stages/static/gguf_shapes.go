package static

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/gguf.shapes",
	Doc: "the tensors of a GGUF model have the sizes that its metadata states\n\nllama.cpp refuses another shape when it loads; a vocabulary that was " +
		"extended without its embedding, or metadata of another size of the model, shows here first.",
	Since: since, Cost: pass,
	Modes:   []string{"gguf.shapes"},
	Faults:  []string{"embedding-rows", "experts", "feed-forward", "heads", "integer-weights", "one-dimension-less", "packed-norm", "width"},
	Engines: []string{"llama.cpp"},
	Does:    whenShapeWrong,
	Causes:  []string{"metadata were edited or come from another size of the model", "tokens were added and the embedding was not resized"},
	Next:    []string{"convert the checkpoint again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		m, f, ok := gguf(inv)
		if !ok {
			return f, nil
		}
		sizes := ggufSizes(m)
		var bad []string
		looked := 0
		for _, name := range inv.Names() {
			t, here := inv.Tensor(name)
			want, known := sizes[ggufPart(name)]
			if !here {
				continue
			}
			if wrong := oddType(t); wrong != "" {
				bad = append(bad, name)
				if len(bad) == 1 {
					f = gates.Fail("%s %s", name, wrong)
				}
				continue
			}
			if !known {
				continue
			}
			looked++
			if len(t.Shape) != len(want) {
				bad = append(bad, name)
				if len(bad) == 1 {
					f = gates.Fail("%s is %v, the metadata state %s", name, t.Shape, ggufShape(want))
				}
				continue
			}
			for i, w := range want {
				if w > 0 && t.Shape[i] != w {
					bad = append(bad, name)
					if len(bad) == 1 {
						f = gates.Fail("%s is %v, the metadata state %s", name, t.Shape, ggufShape(want))
					}
					break
				}
			}
		}
		switch {
		case looked == 0:
			return gates.NotApply("no tensor of a known name is here"), nil
		case len(bad) > 0:
			return with(f, bad), nil
		}
		return gates.Pass("%s as the metadata state them", plural(looked, "tensor")), nil
	},
})

// oddType says what is wrong with a tensor's type: engines have no arithmetic for integers
// as weights, and none for packed norms.
func oddType(t checkpoint.Tensor) string {
	switch t.DType {
	case "I8", "I16", "I32", "I64", "F64":
		return fmt.Sprintf("is stored as %s, with which no engine computes", t.DType)
	}
	if len(t.Shape) == 1 && !t.DType.Plain() {
		return fmt.Sprintf("has one dimension and is packed as %s: engines want plain numbers there", t.DType)
	}
	return ""
}

// ggufPart returns a tensor's name without the number of its layer.
func ggufPart(name string) string {
	if rest, ok := strings.CutPrefix(name, "blk."); ok {
		_, name, _ = strings.Cut(rest, ".")
	}
	return name
}

// ggufSizes returns the shape of each tensor that follows from the metadata, 0 for
// a dimension that does not. Numbers that are stated layer by layer fix nothing.
func ggufSizes(m checkpoint.Metadata) map[string][]int64 {
	arch := m.Text("general.architecture")
	get := func(key string) int64 {
		n, _ := m.Count(arch + "." + key)
		return n
	}
	width, experts := get("embedding_length"), get("expert_count")
	out := map[string][]int64{"attn_norm.weight": {width}, "ffn_norm.weight": {width}, "output_norm.weight": {width}}
	if n := m.Length("tokenizer.ggml.tokens"); n > 0 {
		out["token_embd.weight"] = []int64{n, width}
		out["output.weight"] = []int64{n, width}
	}
	if experts > 0 {
		inner := get("expert_feed_forward_length")
		out["ffn_gate_inp.weight"] = []int64{experts, width}
		out["ffn_gate_exps.weight"] = []int64{experts, inner, width}
		out["ffn_up_exps.weight"] = []int64{experts, inner, width}
		out["ffn_down_exps.weight"] = []int64{experts, width, inner}
	}
	if inner := get("feed_forward_length"); experts == 0 && inner > 0 && slices.Contains(ggufPlain, arch) {
		out["ffn_gate.weight"], out["ffn_up.weight"] = []int64{inner, width}, []int64{inner, width}
		out["ffn_down.weight"] = []int64{width, inner}
	}
	// Heads are compared where the width of one is stated, or where queries are as
	// wide as the model; latent attention has other tensors.
	heads, kv, dim := get("attention.head_count"), get("attention.head_count_kv"), get("attention.key_length")
	if dim == 0 && heads > 0 && width%heads == 0 && slices.Contains(plainHeads, arch) {
		dim = width / heads
	}
	if get("attention.kv_lora_rank") > 0 || heads == 0 || kv == 0 || dim == 0 || !slices.Contains(plainHeads, arch) {
		return out
	}
	out["attn_q.weight"] = []int64{heads * dim, width}
	out["attn_k.weight"] = []int64{kv * dim, width}
	out["attn_v.weight"] = []int64{kv * cmp.Or(get("attention.value_length"), dim), width}
	out["attn_output.weight"] = []int64{width, heads * dim}
	return out
}

// plainHeads are the architectures whose layers all have the same plain heads.
var plainHeads = []string{"llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "gemma", "gemma2", "gemma3", "mistral3", "internlm2", "granite", "granitemoe", "gpt-oss", "olmo2", "smollm3"}

func ggufShape(want []int64) string {
	parts := make([]string, len(want))
	for i, w := range want {
		if parts[i] = fmt.Sprint(w); w == 0 {
			parts[i] = "any"
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}
