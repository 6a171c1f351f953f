package demo

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
)

// A shard collects tensors in the order in which they are added.
type shard struct {
	name    string
	entries []entry
	data    []byte
}

type entry struct {
	name  string
	dtype string
	shape []int64
	begin int
	end   int
}

func (s *shard) add(name, dtype string, data []byte, shape ...int64) {
	begin := len(s.data)
	s.data = append(s.data, data...)
	s.entries = append(s.entries, entry{name, dtype, shape, begin, len(s.data)})
}

// bytes returns the file: the length of the header, the header padded with blanks
// to eight bytes, the tensors.
func (s *shard) bytes() []byte {
	var h strings.Builder
	h.WriteString(`{"__metadata__":{"format":"pt"}`)
	for _, e := range s.entries {
		shape, _ := json.Marshal(e.shape) // numbers always marshal
		fmt.Fprintf(&h, `,%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, e.name, e.dtype, shape, e.begin, e.end)
	}
	h.WriteByte('}')
	for h.Len()%8 != 0 {
		h.WriteByte(' ')
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(h.Len()))
	return append(append(out, h.String()...), s.data...)
}

// index returns the index of all shards.
func index(shards []*shard) []byte {
	var b bytes.Buffer
	total := 0
	for _, s := range shards {
		total += len(s.data)
	}
	fmt.Fprintf(&b, "{\n  \"metadata\": {\n    \"total_size\": %d\n  },\n  \"weight_map\": {", total)
	separator := "\n"
	for _, s := range shards {
		for _, e := range s.entries {
			fmt.Fprintf(&b, "%s    %q: %q", separator, e.name, s.name)
			separator = ",\n"
		}
	}
	b.WriteString("\n  }\n}\n")
	return b.Bytes()
}

// texts returns the small files.
func texts() []file {
	config := fmt.Sprintf(`{
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": %d,
  "intermediate_size": %d,
  "num_attention_heads": %d,
  "num_key_value_heads": %d,
  "head_dim": %d,
  "num_hidden_layers": %d,
  "vocab_size": %d,
  "max_position_embeddings": 2048,
  "rms_norm_eps": 1e-05,
  "rope_theta": 10000.0,
  "hidden_act": "silu",
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "bos_token_id": %d,
  "eos_token_id": %d,
  "quantization_config": {
    "quant_method": "fp8",
    "fmt": "e4m3",
    "activation_scheme": "dynamic",
    "weight_block_size": [%d, %d]
  }
}
`, hidden, inner, heads, kvHeads, headDim, layers, vocab, idBegin, idEnd, block, block)
	generation := fmt.Sprintf("{\n  \"bos_token_id\": %d,\n  \"eos_token_id\": [%d],\n  \"pad_token_id\": %d\n}\n", idBegin, idEnd, idPad)
	return []file{
		{"config.json", []byte(config)},
		{"generation_config.json", []byte(generation)},
		{"tokenizer_config.json", tokenizerConfig()},
		{"tokenizer.json", tokenizer()},
	}
}

// specials are the added tokens, by id.
var specials = []struct {
	id   int
	text string
}{{idBegin, "<|begin|>"}, {idEnd, "<|end|>"}, {idPad, "<|pad|>"}}

const template = "{% for m in messages %}<|begin|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}" +
	"{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"

func tokenizerConfig() []byte {
	added := map[string]any{}
	for _, s := range specials {
		added[fmt.Sprint(s.id)] = addedToken(s.id, s.text, false)
	}
	return indent(map[string]any{
		"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": added,
		"bos_token": "<|begin|>", "eos_token": "<|end|>", "pad_token": "<|pad|>",
		"chat_template": template, "model_max_length": 2048,
	})
}

func addedToken(id int, text string, withID bool) map[string]any {
	m := map[string]any{
		"content": text, "special": true,
		"lstrip": false, "rstrip": false, "normalized": false, "single_word": false,
	}
	if withID {
		m["id"] = id
	}
	return m
}

// tokenizer returns a byte-level tokenizer without merges: each byte is a token.
func tokenizer() []byte {
	words := map[string]int{}
	for b, r := range byteAlphabet() {
		words[string(r)] = b
	}
	var added []any
	for _, s := range specials {
		words[s.text] = s.id
		added = append(added, addedToken(s.id, s.text, true))
	}
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return indent(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer": nil, "pre_tokenizer": byteLevel, "post_processor": nil, "decoder": byteLevel,
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
			"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false,
			"vocab": words, "merges": []string{},
		},
	})
}

// byteAlphabet returns the printable letter that byte-level tokenizers use for
// each byte: itself where it is printable, the next free one from 256 on otherwise.
func byteAlphabet() [256]rune {
	var out [256]rune
	next := rune(256)
	for b := range out {
		r := rune(b)
		switch {
		case r >= '!' && r <= '~', r >= '¡' && r <= '¬', r >= '®' && r <= 'ÿ':
			out[b] = r
		default:
			out[b] = next
			next++
		}
	}
	return out
}

// indent marshals with sorted keys, so that the bytes are always the same.
func indent(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // maps of texts and numbers always marshal
	}
	return b.Bytes()
}
