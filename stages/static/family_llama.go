package static

import (
	"strings"

	"infbench/stages/checkpoint"
)

// Llama and the families that share its names: Mistral, Qwen2 (biases on q, k
// and v), Qwen3 (norms on q and k), Gemma, Mixtral (experts w1 to w3) and others.
var _ = addFamily(family{
	types: []string{"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "granite", "PanguEmbedded"},
	shape: llamaShape,
})

func llamaShape(d dims, name string) ([]int64, bool) {
	pattern, _ := checkpoint.Generalise(name)
	switch pattern {
	case "model.embed_tokens.weight", "lm_head.weight":
		return []int64{d.vocab, d.hidden}, true
	case "model.norm.weight":
		return []int64{d.hidden}, true
	}
	rest, ok := strings.CutPrefix(pattern, "model.layers.*.")
	if !ok {
		return nil, false
	}
	return llamaLayer(d, rest)
}

func llamaLayer(d dims, rest string) ([]int64, bool) {
	q, kv := d.heads*d.headDim, d.kv*d.headDim
	switch rest {
	case "input_layernorm.weight", "post_attention_layernorm.weight", "self_attn.o_proj.bias", "mlp.down_proj.bias":
		return []int64{d.hidden}, true
	case "self_attn.q_proj.weight":
		return []int64{q, d.hidden}, true
	case "self_attn.k_proj.weight", "self_attn.v_proj.weight":
		return []int64{kv, d.hidden}, true
	case "self_attn.o_proj.weight":
		return []int64{d.hidden, q}, true
	case "self_attn.q_proj.bias":
		return []int64{q}, true
	case "self_attn.k_proj.bias", "self_attn.v_proj.bias":
		return []int64{kv}, true
	case "self_attn.q_norm.weight", "self_attn.k_norm.weight":
		return []int64{d.headDim}, true
	case "self_attn.rotary_emb.inv_freq":
		return []int64{d.headDim / 2}, true
	case "mlp.gate_proj.weight", "mlp.up_proj.weight", "block_sparse_moe.experts.*.w1.weight", "block_sparse_moe.experts.*.w3.weight":
		return []int64{d.inter, d.hidden}, true
	case "mlp.gate_proj.bias", "mlp.up_proj.bias":
		return []int64{d.inter}, true
	case "mlp.down_proj.weight", "block_sparse_moe.experts.*.w2.weight":
		return []int64{d.hidden, d.inter}, true
	case "block_sparse_moe.gate.weight":
		return []int64{d.experts, d.hidden}, true
	}
	return nil, false
}
