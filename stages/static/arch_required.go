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
	ID: "static/arch.required",
	Doc: "a model of a known architecture has the weights that it computes with\n\nComparing layers with each other misses what all of them lack: every " +
		"down-projection, the router, the norms, the embedding. Engines leave what is absent as memory was, and answer.",
	Since: "0.2.0", Cost: pass,
	Modes: []string{"arch.required"},
	Faults: []string{
		"no-linear-at-all", "down-lost-everywhere", "embedding-lost", "final-norm-lost", "biases-lost", "router-lost", "shared-experts-lost", "half-of-the-layers", "gguf-norm-lost", "gguf-up-lost",
	},
	Does:   whenTensorMissing,
	Causes: []string{"a shard or its entries were lost", "a conversion that renamed or dropped a kind of tensor", "config.json is of another architecture"},
	Next:   []string{"compare the index with the base model's", again},
	Run:    archRequired,
})

// A need is met by all names of any one of its alternatives; names are those of a layer's
// weights without the layer, experts' numbers replaced by "*".
type need [][]string

// one returns a need of exactly these names.
func one(names ...string) need { return need{names} }

// anatomyOf describes the layers of an architecture.
type anatomyOf struct {
	types []string
	// layer returns what a layer needs; i is its number.
	layer func(c checkpoint.Config, i int64) []need
}

var (
	separateOrFused = need{{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, {"self_attn.qkv_proj"}}
	output          = one("self_attn.o_proj")
	gatedMLP        = []need{{{"mlp.gate_proj", "mlp.up_proj"}, {"mlp.gate_up_proj"}}, one("mlp.down_proj")}
	twoNorms        = []need{one("input_layernorm"), one("post_attention_layernorm")}
	headNorms       = one("self_attn.q_norm", "self_attn.k_norm")
	inputBiases     = need{{"self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"}, {"self_attn.qkv_proj.bias"}}
	expertsOf       = need{
		{"mlp.experts.*.gate_proj", "mlp.experts.*.up_proj", "mlp.experts.*.down_proj"},
		{"mlp.experts.gate_up_proj", "mlp.experts.down_proj"},
		{"mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"},
		{"mlp.switch_mlp.gate_proj", "mlp.switch_mlp.up_proj", "mlp.switch_mlp.down_proj"},
		{"mlp.experts.*.gate_up_proj", "mlp.experts.*.down_proj"},
	}
	mixtralExperts = need{
		{"block_sparse_moe.experts.*.w1", "block_sparse_moe.experts.*.w2", "block_sparse_moe.experts.*.w3"},
		{"block_sparse_moe.switch_mlp.gate_proj", "block_sparse_moe.switch_mlp.up_proj", "block_sparse_moe.switch_mlp.down_proj"},
		{"mlp.experts.gate_up_proj", "mlp.experts.down_proj"},
	}
)

func plainLayer(c checkpoint.Config, _ int64) []need {
	out := slices.Concat([]need{separateOrFused, output}, gatedMLP, twoNorms)
	if c.Value("attention_bias").Bool() {
		out = append(out, inputBiases)
	}
	return out
}

// sparse reports whether a layer is one of experts.
func sparse(c checkpoint.Config, i int64) bool {
	if n, ok := c.Experts(); !ok || n < 1 {
		return false
	}
	if n, ok := c.Count("first_k_dense_replace"); ok && i < n {
		return false
	}
	if n, ok := c.Count("decoder_sparse_step", "moe_layer_freq"); ok && n > 1 && (i+1)%n != 0 {
		return false
	}
	for _, e := range c.Value("mlp_only_layers").Array() {
		if e.Int() == i {
			return false
		}
	}
	return true
}

func feedForward(c checkpoint.Config, i int64, shared ...need) []need {
	if !sparse(c, i) {
		return gatedMLP
	}
	return append([]need{{{"mlp.gate"}, {"mlp.router"}}, expertsOf}, shared...)
}

func latentLayer(c checkpoint.Config, i int64) []need {
	out := slices.Concat(twoNorms, []need{
		output,
		{{"self_attn.kv_a_proj_with_mqa"}, {"self_attn.fused_qkv_a_proj_with_mqa"}},
		one("self_attn.kv_a_layernorm"),
		{{"self_attn.kv_b_proj"}, {"self_attn.embed_q", "self_attn.unembed_out"}},
	})
	if n, ok := c.Count("q_lora_rank"); ok && n > 0 {
		out = append(out, need{{"self_attn.q_a_proj"}, {"self_attn.fused_qkv_a_proj_with_mqa"}}, one("self_attn.q_a_layernorm", "self_attn.q_b_proj"))
	} else {
		out = append(out, one("self_attn.q_proj"))
	}
	var shared []need
	if n, ok := c.Count("n_shared_experts"); ok && n > 0 {
		shared = append(shared, need{
			{"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj", "mlp.shared_experts.down_proj"}, {"mlp.shared_experts.gate_up_proj", "mlp.shared_experts.down_proj"},
		})
	}
	if c.Value("topk_method").Str == "noaux_tc" {
		shared = append(shared, one("mlp.gate.e_score_correction_bias"))
	}
	return append(out, feedForward(c, i, shared...)...)
}

var anatomies = []anatomyOf{
	{[]string{"llama", "mistral", "granite", "smollm3", "phi3"}, plainLayer},
	{[]string{"gemma"}, plainLayer},
	{[]string{"gemma2"}, func(c checkpoint.Config, i int64) []need {
		return append(plainLayer(c, i), one("pre_feedforward_layernorm", "post_feedforward_layernorm"))
	}},
	{[]string{"gemma3", "gemma3_text"}, func(c checkpoint.Config, i int64) []need {
		return append(plainLayer(c, i), headNorms, one("pre_feedforward_layernorm", "post_feedforward_layernorm"))
	}},
	{[]string{"qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text"}, func(c checkpoint.Config, i int64) []need {
		return append(plainLayer(c, i), inputBiases)
	}},
	{[]string{"qwen3", "qwen3_vl", "qwen3_vl_text"}, func(c checkpoint.Config, i int64) []need { return append(plainLayer(c, i), headNorms) }},
	{[]string{"qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"}, func(c checkpoint.Config, i int64) []need {
		return slices.Concat([]need{separateOrFused, output, headNorms}, twoNorms, feedForward(c, i))
	}},
	{[]string{"qwen2_moe"}, func(c checkpoint.Config, i int64) []need {
		return slices.Concat([]need{separateOrFused, output, inputBiases}, twoNorms, feedForward(c, i,
			one("mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj"), one("mlp.shared_expert_gate")))
	}},
	{[]string{"mixtral"}, func(checkpoint.Config, int64) []need {
		return slices.Concat([]need{separateOrFused, output, {{"block_sparse_moe.gate"}, {"mlp.gate"}}, mixtralExperts}, twoNorms)
	}},
	{[]string{"deepseek_v2", "deepseek_v3", "kimi_k2"}, latentLayer},
	{[]string{"gpt_oss"}, func(checkpoint.Config, int64) []need {
		return slices.Concat([]need{separateOrFused, output, one("self_attn.sinks"), one("mlp.router")}, twoNorms, []need{
			{{"mlp.experts.gate_up_proj", "mlp.experts.down_proj"}, {"mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"}},
		})
	}},
}

// ggufPlain are the architectures of GGUF whose layers have these very tensors.
var ggufPlain = []string{"llama", "qwen2", "qwen3", "qwen2moe", "qwen3moe", "gemma", "gemma2", "gemma3", "granite", "smollm3"}

func ggufLayer(arch string) []need {
	out := []need{
		{{"attn_q", "attn_k", "attn_v"}, {"attn_qkv"}},
		one("attn_output"), one("attn_norm"), one("ffn_norm"),
		{
			{"ffn_gate", "ffn_up", "ffn_down"},
			{"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_gate_inp"},
			{"ffn_gate_up_exps", "ffn_down_exps", "ffn_gate_inp"},
			{"ffn_gate.*", "ffn_up.*", "ffn_down.*", "ffn_gate_inp"}, // experts one by one, as old conversions have them
		},
	}
	switch arch {
	case "qwen2", "qwen2moe":
		out = append(out, need{{"attn_q.bias", "attn_k.bias", "attn_v.bias"}, {"attn_qkv.bias"}})
	case "qwen3", "qwen3moe", "gemma3":
		out = append(out, one("attn_q_norm", "attn_k_norm"))
	}
	return out
}

// needsOf returns what a layer of the checkpoint's architecture needs, and the names of
// the embedding and the last norm beside the layers; nil for an unknown one.
func needsOf(c checkpoint.Config) (layer func(i int64) []need, outer []string) {
	if arch, ok := strings.CutPrefix(c.ModelType(), checkpoint.GGUFType); ok {
		if !slices.Contains(ggufPlain, arch) {
			return nil, nil
		}
		return func(int64) []need { return ggufLayer(arch) }, []string{"token_embd", "output_norm"}
	}
	for _, a := range anatomies {
		if slices.Contains(a.types, c.TextModelType()) {
			return func(i int64) []need { return a.layer(c, i) }, []string{"embed_tokens", "norm"}
		}
	}
	return nil, nil
}

func archRequired(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	layer, outer := needsOf(c)
	if layer == nil {
		return gates.NotApply("no rule for the weights of %s", gates.Quote(c.TextModelType(), 40)), nil
	}
	if inv.Kind() == checkpoint.SingleShard && pieceOf(inv) > 1 {
		return gates.NotApply("one shard of several was given"), nil
	}
	s, f, ok := decoderOf(inv, c)
	if !ok {
		if names, _, known := tensorNames(inv); known && decoder(inv) == nil && (inv.Index().Readable() || inv.Weights().Presence() == checkpoint.Complete) {
			return gates.Fail("no layer of %s is among %s: %s", c.TextModelType(), plural(len(names), "tensor"), some(names)), nil
		}
		return f, nil
	}
	stated, _ := c.Layers()
	var lost []string
	for _, l := range s.Layers {
		if int64(l.Number) >= stated && stated > 0 {
			continue // for multi-token prediction
		}
		has := anatomy(l, false)
		for _, n := range layer(int64(l.Number)) {
			for _, name := range n.lacks(has) {
				lost = append(lost, fmt.Sprintf("%s.%d.%s", s.Prefix, l.Number, name))
			}
		}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(s.Prefix, "layers"), ".")
	if inv.Kind() == checkpoint.GGUFModel {
		base = ""
	}
	for _, o := range outer {
		if name := strings.TrimPrefix(base+"."+o, "."); !hasModule(inv, name) {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		return with(gates.Fail("%s that %s computes with are absent: %s", share(inv, lost, "weight"), c.TextModelType(), some(lost)), lost), nil
	}
	return gates.Pass("%s of %s have what they compute with, and so has what stands around them", plural(len(s.Layers), "layer"), s.Prefix), nil
}

// lacks returns the names that are missing from the alternative which is nearest to what
// is there, nil when the need is met.
func (n need) lacks(has map[string]bool) []string {
	var best []string
	most := -1
	for _, names := range n {
		var missing []string
		for _, name := range names {
			if !has[name] {
				missing = append(missing, name)
			}
		}
		if missing == nil {
			return nil
		}
		if have := len(names) - len(missing); have > most {
			best, most = missing, have
		}
	}
	return best
}

func hasModule(inv checkpoint.Inventory, name string) bool {
	type key struct{}
	all := checkpoint.Derive(inv, key{}, func(inv checkpoint.Inventory) map[string]bool {
		out := map[string]bool{}
		for _, m := range inv.Modules() {
			out[m.Name] = true
		}
		return out
	})
	return all[name]
}
