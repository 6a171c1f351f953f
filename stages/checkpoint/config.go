package checkpoint

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Config is config.json. Multimodal models nest the text model's part; the
// accessors look there first and then at the top.
type Config struct {
	Doc
}

// textParts are the names under which configurations nest their text model.
var textParts = []string{"text_config", "llm_config", "language_config", "thinker_config.text_config", "lang_config"}

// ParseConfig reads a config.json.
func ParseConfig(text []byte) Config { return Config{ParseDoc(ConfigFile, text)} }

// Text returns the nested configuration of the text model; it does not exist when
// the model has none.
func (c Config) Text() gjson.Result {
	for _, p := range textParts {
		if r := c.Get(p); r.IsObject() {
			return r
		}
	}
	return gjson.Result{}
}

// Value returns the first of the keys that has a value other than null, in the
// text model's part, then at the top.
func (c Config) Value(keys ...string) gjson.Result {
	text := c.Text()
	for _, where := range []func(string) gjson.Result{text.Get, c.Get} {
		for _, k := range keys {
			if r := where(k); r.Exists() && r.Type != gjson.Null {
				return r
			}
		}
	}
	return gjson.Result{}
}

// maxCount bounds the counts that a configuration may state; beyond it a number
// is taken for no number, so that arithmetic on it cannot overflow.
const maxCount = 1 << 31

// Count returns the first of the keys that holds a positive whole number.
func (c Config) Count(keys ...string) (n int64, ok bool) {
	for _, k := range keys {
		r := c.Value(k)
		if r.Type == gjson.Number && r.Num > 0 && r.Num < maxCount && r.Num == float64(int64(r.Num)) {
			return int64(r.Num), true
		}
	}
	return 0, false
}

// ModelType returns model_type at the top level, "" when it is absent.
func (c Config) ModelType() string { return c.Get("model_type").Str }

// TextModelType returns the model_type of the text model.
func (c Config) TextModelType() string { return c.Value("model_type").Str }

// Architectures returns the class names.
func (c Config) Architectures() []string {
	var out []string
	for _, a := range c.Get("architectures").Array() {
		out = append(out, a.Str)
	}
	return out
}

// Layers returns the number of decoder layers.
func (c Config) Layers() (int64, bool) {
	return c.Count("num_hidden_layers", "num_layers", "n_layer", "n_layers")
}

// Hidden returns the width of the residual stream.
func (c Config) Hidden() (int64, bool) {
	return c.Count("hidden_size", "n_embd", "n_embed", "d_model")
}

// Heads returns the number of attention heads.
func (c Config) Heads() (int64, bool) {
	return c.Count("num_attention_heads", "n_head", "n_heads")
}

// KVHeads returns the number of key and value heads, which is that of the
// attention heads unless stated.
func (c Config) KVHeads() (int64, bool) {
	if n, ok := c.Count("num_key_value_heads"); ok {
		return n, true
	}
	return c.Heads()
}

// HeadDim returns the width of one head: stated, or the hidden size over the heads.
func (c Config) HeadDim() (int64, bool) {
	if n, ok := c.Count("head_dim"); ok {
		return n, true
	}
	hidden, ok1 := c.Hidden()
	heads, ok2 := c.Heads()
	if !ok1 || !ok2 || hidden%heads != 0 {
		return 0, false
	}
	return hidden / heads, true
}

// Experts returns the number of routed experts in a layer.
func (c Config) Experts() (int64, bool) {
	return c.Count("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
}

// Vocab returns the number of rows that the embedding must have at least.
func (c Config) Vocab() (int64, bool) {
	return c.Count("vocab_size", "padded_vocab_size")
}

// Tied returns whether the head shares the embedding's weights; stated is false
// when neither the top level nor the text model's part says so and the class's
// default decides.
func (c Config) Tied() (tied, stated bool) {
	const key = "tie_word_embeddings"
	if r := c.Get(key); r.IsBool() {
		return r.Bool(), true
	}
	r := c.Text().Get(key)
	return r.Bool(), r.IsBool()
}

// DType returns the dtype that the weights are declared to have, in the words of
// the file ("bfloat16"), "" when none is.
func (c Config) DType() string {
	for _, k := range []string{"torch_dtype", "dtype"} {
		if r := c.Get(k); r.Str != "" {
			return r.Str
		}
	}
	return c.Value("torch_dtype", "dtype").Str
}

// EncoderDecoder reports whether the model is not a causal decoder alone.
func (c Config) EncoderDecoder() bool {
	if c.Get("is_encoder_decoder").Bool() {
		return true
	}
	return slices.ContainsFunc([]string{"m2m_100", "t5", "mt5", "bart", "mbart", "whisper", "marian", "pegasus"},
		func(t string) bool { return c.ModelType() == t })
}

// HasVision reports whether the configuration describes a part that sees or hears.
func (c Config) HasVision() bool {
	for _, k := range []string{"vision_config", "visual", "audio_config", "vision_tower", "mm_vision_tower", "vision_encoder_config"} {
		if r := c.Get(k); r.IsObject() || r.Str != "" {
			return true
		}
	}
	return strings.Contains(c.ModelType(), "vl")
}
