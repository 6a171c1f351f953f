package static_test

import (
	"path/filepath"
	"strings"
	"testing"

	"infbench/stages/checkpoint"
	"infbench/stages/static"
)

// configured opens a folder that holds a configuration alone.
func configured(t *testing.T, config string) checkpoint.Inventory {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "config.json", config)
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// The expected bytes are counted by hand from what the models' papers and cards say:
// 2 (keys and values) × heads × width × 2 bytes for each layer that keeps them.
func TestKVCache(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		want   static.KVCache
	}{
		"Llama 3.1 8B": {
			`{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8}`,
			static.KVCache{Kind: "grouped-query", PerToken: 131072, BeyondWindow: 131072, Layers: 32}, // 2×8×128×2×32
		},
		"Llama 2 7B": {
			`{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32}`,
			static.KVCache{Kind: "multi-head", PerToken: 524288, BeyondWindow: 524288, Layers: 32},
		},
		"DeepSeek-V3": { // (512 + 64) × 2 × 61
			`{"model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"num_attention_heads":128,"num_key_value_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64}`,
			static.KVCache{Kind: "latent (MLA)", PerToken: 70272, BeyondWindow: 70272, Layers: 61},
		},
		"gpt-oss-20b": { // 2×8×64×2 = 2,048 a layer, every other with a window of 128
			`{"model_type":"gpt_oss","num_hidden_layers":4,"head_dim":64,"num_attention_heads":64,"num_key_value_heads":8,"hidden_size":2880,"sliding_window":128,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]}`,
			static.KVCache{Kind: "grouped-query, sliding window", PerToken: 8192, BeyondWindow: 4096, Window: 128, Layers: 2, Windowed: 2},
		},
		"Gemma 3": { // every sixth layer sees everything
			`{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","num_hidden_layers":12,"head_dim":128,"num_attention_heads":32,"num_key_value_heads":16,"hidden_size":5376,"sliding_window":1024,"sliding_window_pattern":6}}`,
			static.KVCache{Kind: "grouped-query, sliding window", PerToken: 12 * 8192, BeyondWindow: 2 * 8192, Window: 1024, Layers: 2, Windowed: 10},
		},
		"Qwen 2 with its window off": {
			`{"model_type":"qwen2","num_hidden_layers":2,"hidden_size":1024,"num_attention_heads":8,"num_key_value_heads":2,"sliding_window":32768,"use_sliding_window":false,"max_window_layers":1}`,
			static.KVCache{Kind: "grouped-query", PerToken: 2048, BeyondWindow: 2048, Layers: 2}, // 2×2×128×2×2
		},
		"Qwen3-Next": { // one layer in four keeps keys and values, of 2 heads of 256
			`{"model_type":"qwen3_next","num_hidden_layers":8,"hidden_size":2048,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"full_attention_interval":4}`,
			static.KVCache{Kind: "grouped-query, hybrid", PerToken: 4096, BeyondWindow: 4096, Layers: 2, Stateless: 6},
		},
		"Nemotron-H": {
			`{"model_type":"nemotron_h","num_hidden_layers":6,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"hybrid_override_pattern":"M-M*-M"}`,
			static.KVCache{Kind: "grouped-query, hybrid", PerToken: 4096, BeyondWindow: 4096, Layers: 1, Stateless: 5},
		},
		"Jamba": { // layer 4 of every 8
			`{"model_type":"jamba","num_hidden_layers":16,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,"attn_layer_period":8,"attn_layer_offset":4}`,
			static.KVCache{Kind: "grouped-query, hybrid", PerToken: 8192, BeyondWindow: 8192, Layers: 2, Stateless: 14},
		},
		"Gemma 3n": { // the last of four layers reads an earlier one's
			`{"model_type":"gemma3n","num_hidden_layers":4,"hidden_size":2048,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":256,"num_kv_shared_layers":1}`,
			static.KVCache{Kind: "grouped-query, hybrid", PerToken: 6144, BeyondWindow: 6144, Layers: 3, Stateless: 1},
		},
		"StarCoder": {
			`{"model_type":"gpt_bigcode","n_layer":40,"n_embd":6144,"n_head":48,"multi_query":true}`,
			static.KVCache{Kind: "multi-query", PerToken: 20480, BeyondWindow: 20480, Layers: 40}, // 2×128×2×40
		},
		"hostile":                {`{"num_hidden_layers":1e300,"num_attention_heads":-1}`, static.KVCache{}},
		"an encoder and decoder": {`{"model_type":"t5","num_layers":6,"d_model":512,"num_heads":8,"is_encoder_decoder":true}`, static.KVCache{}},
	} {
		if got := static.EstimateOf(configured(t, c.config)).KV; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestKVCacheOfSequences(t *testing.T) {
	t.Parallel()
	k := static.KVCache{PerToken: 100, BeyondWindow: 40, Window: 10}
	for tokens, want := range map[int64]int64{0: 0, 10: 1000, 11: 1040, 20: 1400} {
		if got := k.Bytes(tokens); got != want {
			t.Errorf("%d tokens take %d, want %d", tokens, got, want)
		}
		if got := k.Tokens(want); got != tokens {
			t.Errorf("%d bytes hold %d tokens, want %d", want, got, tokens)
		}
	}
	if k.BeyondWindow = 0; k.Tokens(1001) != -1 {
		t.Error("a window bounds every length")
	}
}

func TestEstimateOfWeights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header := `{"a":{"dtype":"BF16","shape":[4,4],"data_offsets":[0,32]},"b":{"dtype":"F32","shape":[],"data_offsets":[32,36]}}`
	write(t, dir, "model.safetensors", string(shard(t, []byte(header))))
	write(t, dir, "config.json", `{}`)
	write(t, dir, "model.bin", strings.Repeat("x", 1000)) // another format beside it is not downloaded
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := static.EstimateOf(inv)
	if e.Weights != 36 || e.Download != int64(8+len(header)+36+2) || len(e.DTypes) != 2 || e.DTypes[0] != (static.DTypeBytes{DType: "BF16", Tensors: 1, Bytes: 32}) {
		t.Errorf("%+v", e)
	}
	if e = static.EstimateOf(configured(t, `{}`)); e.Weights != -1 || e.Download != -1 {
		t.Errorf("nothing is known, and it says %+v", e)
	}
}

// The grid shows what was lost where: here scales in two layers, an expert, a
// projection, and a whole layer.
func TestGrid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var index strings.Builder
	index.WriteString(`{"weight_map":{"model.norm.weight":"a.safetensors"`)
	for _, layer := range []string{"0", "1", "2", "3", "4", "6"} {
		put := func(name string) { index.WriteString(`,"model.layers.` + layer + "." + name + `":"a.safetensors"`) }
		put("input_layernorm.weight")
		put("mlp.down_proj.weight")
		if layer != "1" && layer != "2" {
			put("mlp.down_proj.weight_scale_inv")
		}
		if layer != "3" {
			put("self_attn.o_proj.weight")
			put("self_attn.o_proj.weight_scale_inv")
		}
		for _, e := range []string{"0", "1"} {
			if layer != "4" || e == "0" {
				put("mlp.experts." + e + ".up_proj.weight")
				put("mlp.experts." + e + ".up_proj.weight_scale_inv")
			}
		}
	}
	write(t, dir, "model.safetensors.index.json", index.String()+"}}")
	write(t, dir, "config.json", `{"model_type":"x","num_hidden_layers":7,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`)
	inv, err := checkpoint.Open(filepath.Join(dir, "model.safetensors.index.json"))
	if err != nil {
		t.Fatal(err)
	}
	g := static.GridOf(inv)
	got := map[string]string{}
	for _, r := range g.Rows {
		for _, c := range r.Cells {
			got[r.Name] += string(c)
		}
	}
	want := map[string]string{
		"input_layernorm": ".....X.", "mlp.down_proj": "#!!##X#", "self_attn.o_proj": "###X#X#", "mlp.experts.*.up_proj": "####%X#",
	}
	if g.Prefix != "model.layers" || g.Layers != 7 || len(got) != len(want) {
		t.Fatalf("%q × %d: %v", g.Prefix, g.Layers, got)
	}
	for name, cells := range want {
		if got[name] != cells {
			t.Errorf("%s is %q, want %q", name, got[name], cells)
		}
	}
}
