package static_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// real is the parsed metadata of a real folder that a mutation changes.
type real struct {
	config  map[string]any
	weights map[string]string
	meta    map[string]any
}

// drop removes the names that contain all of the words.
func (r real) drop(words ...string) {
	for n := range r.weights {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(n, w) }) {
			delete(r.weights, n)
		}
	}
}

// mutations are single defects put into sound real folders, and exactly the
// findings that each must add. Those of folders that are not kept here run when
// INFBENCH_CHECKPOINTS names them.
var mutations = []struct {
	folder, what string
	change       func(real)
	want         []string
}{
	{"smollm2-135m-bf16", "nothing", func(real) {}, nil},
	{"smollm2-135m-bf16", "one layer more counted", func(r real) { r.config["num_hidden_layers"] = 31 }, []string{"arch.layers"}},
	{"smollm2-135m-bf16", "one weight lost", func(r real) { r.drop("layers.12.", "up_proj") }, []string{"arch.layer_shape", "arch.required", "idx.size_vs_config"}},
	{"smollm2-135m-bf16", "other key-value heads", func(r real) { r.config["num_key_value_heads"] = 9 }, []string{"idx.size_vs_config"}},
	{"smollm2-135m-bf16", "no longer tied", func(r real) { r.config["tie_word_embeddings"] = false }, []string{"arch.head_missing"}},
	{"smollm2-135m-bf16", "another dtype declared", func(r real) { r.config["dtype"] = "float32" }, []string{"idx.size_vs_dtype"}},
	{"smollm2-135m-bf16", "a shard that is not there", func(r real) { r.weights["model.norm.weight"] = "gone.safetensors" }, []string{"shard.missing"}},
	{"smollm2-135m-bf16", "a shard outside", func(r real) { r.weights["model.norm.weight"] = "../x.safetensors" }, []string{"idx.bad_path", "shard.missing"}},
	{"smollm2-135m-bf16", "a declaration of nothing", func(r real) {
		r.config["quantization_config"] = map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 128}
	}, []string{"q.plain_but_declared"}},
	{"qwen-7b-chat-gptq-int4", "scales of one projection lost", func(r real) { r.drop("mlp.w1.scales") }, []string{"q.missing_part"}},
	{"qwen-7b-chat-gptq-int4", "one packed weight lost", func(r real) { r.drop("h.7.", "c_attn.qweight") }, []string{"q.orphan_part"}},
	{"qwen-7b-chat-gptq-int4", "other bits in one file", func(r real) {
		r.config["quantization_config"].(map[string]any)["bits"] = 8
	}, []string{"q.declarations_disagree"}},
	{"gemma4-26b-a4b-w4a16-ct", "scales of some experts lost", func(r real) { r.drop("layers.9.experts.12", "weight_scale") }, []string{"q.experts_partial", "q.missing_part", "shard.missing", "shard.split_parts"}},
	{"gemma4-26b-a4b-w4a16-ct", "one expert lost", func(r real) { r.drop("layers.9.experts.127.") }, []string{"arch.experts", "shard.missing", "shard.split_parts"}},
	{"gemma4-26b-a4b-w4a16-ct", "an ignored module too many", func(r real) {
		q := r.config["quantization_config"].(map[string]any)
		q["ignore"] = append(q["ignore"].([]any), "model.language_model.layers.3.self_attn.o_proj")
	}, []string{"q.quantised_but_ignored", "shard.missing", "shard.split_parts"}},
	{"gemma4-26b-a4b-w4a16-ct", "a plain module no longer ignored", func(r real) {
		q := r.config["quantization_config"].(map[string]any)
		q["ignore"] = slices.DeleteFunc(q["ignore"].([]any), func(e any) bool { return strings.HasSuffix(e.(string), "layers.3.mlp.up_proj") })
	}, []string{"q.plain_but_declared", "shard.missing", "shard.split_parts"}},
	{"gpt-oss-20b-mxfp4", "scales of a stack lost", func(r real) { r.drop("layers.5.", "down_proj_scales") }, []string{"q.missing_part"}},
	{"molmo-7b-bnb-nf4", "states lost", func(r real) { r.drop("blocks.3.", "quant_state") }, []string{"q.missing_part"}},
	{"llama31-8b-bnb-int8", "declaration lost", func(r real) { delete(r.config, "quantization_config") }, []string{"idx.size_vs_config?", "q.undeclared"}},
	{"dolphin-mixtral-8x7b-bf16", "an expert lost", func(r real) { r.drop("layers.4.", "experts.6.") }, []string{"arch.experts", "idx.size_vs_config"}},
	{"deepseek-ocr-fp32", "a dense layer counted as one of experts", func(r real) { r.config["first_k_dense_replace"] = 0 }, nil},
	{"gemma4-26b-a4b-w4a16-ct", "an exclusion of a module that is not there", func(r real) {
		q := r.config["quantization_config"].(map[string]any)
		q["ignore"] = append(q["ignore"].([]any), "model.language_model.layers.3.block_sparse_moe.gate")
	}, []string{"q.ignore_no_match", "shard.missing", "shard.split_parts"}},
	{"gemma4-26b-a4b-w4a16-ct", "a quantised cache declared", func(r real) {
		r.config["quantization_config"].(map[string]any)["kv_cache_scheme"] = map[string]any{"num_bits": 8, "type": "float", "dynamic": false}
	}, []string{"q.kv_scales", "shard.missing", "shard.split_parts"}},
	{"gemma4-26b-a4b-w4a16-ct", "another format declared", func(r real) {
		q := r.config["quantization_config"].(map[string]any)
		q["format"] = "nvfp4-pack-quantized"
		for _, g := range q["config_groups"].(map[string]any) {
			delete(g.(map[string]any), "format")
		}
	}, []string{"q.missing_part", "shard.missing", "shard.split_parts"}},
	{"gemma4-26b-a4b-w4a16-ct", "a sparse format declared", func(r real) {
		r.config["quantization_config"].(map[string]any)["sparsity_config"] = map[string]any{"format": "sparse-24-bitmask"}
	}, []string{
		"q.dtype", "q.experts_partial", "q.fused_split", "q.group", "q.ignore_no_match", "q.missing_part", "q.orphan_part", "q.plain_but_declared",
		"q.quantised_but_ignored", "q.shape", "shard.missing", "shard.split_parts", // all of them "not verified"
	}},
	{"qwen3-14b-mlx-4bit", "offsets of one layer lost", func(r real) { r.drop("layers.8.", "biases") }, []string{"q.missing_part", "shard.split_parts"}},
	{"qwen3-14b-mlx-4bit", "scales of one layer lost", func(r real) { r.drop("layers.8.", "scales") }, []string{"q.missing_part", "shard.split_parts"}},
	{"llama31-8b-bnb-int8", "scales of one layer lost", func(r real) { r.drop("layers.8.", "SCB") }, []string{"q.missing_part"}},
	{"molmo-7b-bnb-nf4", "packed weights of one layer lost", func(r real) {
		for n := range r.weights {
			if strings.Contains(n, "blocks.3.") && strings.HasSuffix(n, "att_proj.weight") {
				delete(r.weights, n)
			}
		}
	}, []string{"q.orphan_part"}},
	{"gpt-oss-20b-mxfp4", "declared as GPTQ", func(r real) {
		r.config["quantization_config"] = map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 32}
	}, []string{"q.plain_but_declared"}},
	{"gpt-oss-20b-mxfp4", "a shorter factor", func(r real) { r.config["rope_scaling"].(map[string]any)["factor"] = 16 }, []string{"ctx.rope"}},
	{"smollm2-135m-bf16", "an adapter's prefix left on all names", func(r real) {
		for n, s := range maps.Clone(r.weights) {
			delete(r.weights, n)
			r.weights["base_model.model."+n] = s
		}
	}, []string{"arch.unknown_names"}},
	{"minimax-m1-456b-bf16", "one of a kind lost a weight", func(r real) { r.drop("layers.15.", "self_attn.v_proj") }, []string{"arch.layer_shape"}},
}

func TestMutations(t *testing.T) {
	roots := []string{os.Getenv("INFBENCH_CHECKPOINTS"), filepath.Join("testdata", "real")}
	for _, m := range mutations {
		t.Run(m.folder+"/"+strings.ReplaceAll(m.what, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, root := range roots {
				if _, err := os.Stat(filepath.Join(root, m.folder)); root == "" || err != nil {
					continue
				}
				mutate(t, filepath.Join(root, m.folder), m.change, m.want)
				return
			}
			t.Skip("INFBENCH_CHECKPOINTS does not lead to this folder")
		})
	}
}

func mutate(t *testing.T, from string, change func(real), want []string) {
	dir := t.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if data, err := os.ReadFile(filepath.Join(from, e.Name())); err == nil {
			write(t, dir, e.Name(), string(data))
		}
	}
	var r real
	var index struct {
		Metadata map[string]any    `json:"metadata"`
		Map      map[string]string `json:"weight_map"`
	}
	decode(t, filepath.Join(dir, "config.json"), &r.config)
	decode(t, filepath.Join(dir, "model.safetensors.index.json"), &index)
	r.weights, r.meta = index.Map, index.Metadata
	change(r)
	encode(t, filepath.Join(dir, "config.json"), r.config)
	encode(t, filepath.Join(dir, "model.safetensors.index.json"), map[string]any{"metadata": r.meta, "weight_map": r.weights})
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for id, v := range judge(t, inv.WithListed(listing(t, dir)...)) {
		optional := slices.Contains(want, id+"?")
		if s := v.Status(); s != gates.Passed && s != gates.NotApplicable && !optional {
			got = append(got, id)
		}
	}
	slices.Sort(got)
	want = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return strings.HasSuffix(id, "?") })
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber() // a size of 13 digits must come out as it went in
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(path), filepath.Base(path), string(data))
}
