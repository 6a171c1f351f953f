package checkpoint

import (
	"encoding/json"
	"slices"
)

// GGUFType begins the model type of a configuration that was made of GGUF metadata,
// since the tensors of one architecture have other names there.
const GGUFType = "gguf:"

// ggufConfig is config.json as it would be for the same model.
type ggufConfig struct {
	ModelType   string   `json:"model_type"`
	Layers      int64    `json:"num_hidden_layers,omitempty"`
	Extra       int64    `json:"num_nextn_predict_layers,omitempty"`
	Hidden      int64    `json:"hidden_size,omitempty"`
	Inter       int64    `json:"intermediate_size,omitempty"`
	Heads       int64    `json:"num_attention_heads,omitempty"`
	KVHeads     int64    `json:"num_key_value_heads,omitempty"`
	HeadDim     int64    `json:"head_dim,omitempty"`
	Experts     int64    `json:"num_experts,omitempty"`
	Dense       int64    `json:"first_k_dense_replace,omitempty"`
	Interval    int64    `json:"full_attention_interval,omitempty"`
	SharedKV    int64    `json:"num_kv_shared_layers,omitempty"`
	Vocab       int64    `json:"vocab_size,omitempty"`
	Context     int64    `json:"max_position_embeddings,omitempty"`
	Window      int64    `json:"sliding_window,omitempty"`
	WindowEvery int64    `json:"sliding_window_pattern,omitempty"`
	KVRank      int64    `json:"kv_lora_rank,omitempty"`
	RopeDim     int64    `json:"qk_rope_head_dim,omitempty"`
	Kinds       []string `json:"layer_types,omitempty"`
	EOS         *int64   `json:"eos_token_id,omitempty"`
	Tied        bool     `json:"tie_word_embeddings"`
}

// fromGGUF derives the configuration and the tokenizer from the metadata of the file
// that has it: the whole one, or the first piece.
func (c *contents) fromGGUF() {
	c.tok = Tokenizer{eosID: -1}
	m, ok := c.metadata()
	if !ok {
		return
	}
	c.config = Config{Doc: ParseDoc(c.gguf[0], c.ggufConfig(m))}
	c.tok.eosID = -1
	if id, ok := m.Count("tokenizer.ggml.eos_token_id"); ok {
		c.tok.eosID = id
	}
	if m.Length("tokenizer.ggml.tokens") > 0 {
		c.tok.files = []string{c.gguf[0]}
	}
	if m.Text("tokenizer.chat_template") != "" {
		c.tok.template = "tokenizer.chat_template"
	}
}

// GGUF returns the metadata of a GGUF model; ok is false for any other checkpoint, or
// when it could not be read.
func (inv Inventory) GGUF() (m Metadata, ok bool) { return inv.get().metadata() }

// GGUFFiles returns the files of a GGUF model that are here, in order.
func (inv Inventory) GGUFFiles() []string { return slices.Clone(inv.get().gguf) }

func (c *contents) metadata() (m Metadata, ok bool) {
	for _, n := range c.gguf {
		if m, ok := c.headers[n].Metadata(); ok && m.Has("general.architecture") {
			return m, true
		}
	}
	return Metadata{}, false
}

func (c *contents) ggufConfig(m Metadata) []byte {
	arch := m.Text("general.architecture")
	get := func(key string) int64 {
		n, _ := m.Count(arch + "." + key)
		return n
	}
	out := ggufConfig{
		ModelType: GGUFType + arch, Extra: get("nextn_predict_layers"), Hidden: get("embedding_length"),
		Inter: get("feed_forward_length"), Heads: get("attention.head_count"), KVHeads: get("attention.head_count_kv"),
		HeadDim: get("attention.key_length"), Experts: get("expert_count"), Dense: get("leading_dense_block_count"),
		Interval: get("full_attention_interval"), SharedKV: get("attention.shared_kv_layers"), Vocab: get("vocab_size"),
		Context: get("context_length"), Window: get("attention.sliding_window"), WindowEvery: get("attention.sliding_window_pattern"),
		KVRank: get("attention.kv_lora_rank"),
	}
	if out.KVRank > 0 {
		out.RopeDim = get("rope.dimension_count")
	}
	out.Layers = max(get("block_count")-out.Extra, 0)
	if n := m.Length("tokenizer.ggml.tokens"); n > 0 && out.Vocab == 0 {
		out.Vocab = n
	}
	if id, ok := m.Count("tokenizer.ggml.eos_token_id"); ok {
		out.EOS = &id
	}
	out.Kinds = ggufKinds(m, arch, int(out.Layers))
	out.Tied = !slices.ContainsFunc(c.gguf, func(n string) bool {
		return slices.ContainsFunc(c.headers[n].tensors, func(t Tensor) bool { return t.Name == "output.weight" })
	})
	text, _ := json.Marshal(out) // numbers and texts always can be
	return text
}

// ggufKinds labels each layer by what the metadata says for each layer alone: hybrid
// models have no heads in some, and no feed-forward part in others.
func ggufKinds(m Metadata, arch string, layers int) []string {
	var out []string
	for _, key := range []string{"attention.head_count", "attention.head_count_kv", "feed_forward_length", "attention.recurrent_layers"} {
		list := m.Numbers(arch + "." + key)
		if len(list) < layers || layers == 0 {
			continue
		}
		if out == nil {
			out = make([]string, layers)
		}
		for i := range out {
			// Widths may differ from layer to layer; only what is not there makes a kind.
			if list[i] == 0 {
				out[i] += "-" + key
			}
		}
	}
	return out
}
