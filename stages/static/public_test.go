package static_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"infbench/gates"

	"github.com/rogpeppe/go-internal/txtar"
)

// publicDefects are defects that were reported in public. Each is made again from
// its description in testdata/public, and must lead to exactly these findings; one
// that metadata cannot show says why.
var publicDefects = []struct {
	reference, fixture string
	want               []string
	cannot             string
}{
	{"vllm-project/vllm 57108", "01-scale-listed-not-stored", []string{"idx.tensor_not_in_shard"}, ""},
	{"vllm-project/vllm 45212, 45320", "02-experts-unseen-in-calibration", []string{"q.experts_partial", "q.missing_part"}, ""},
	{"vllm-project/vllm 54444", "03-global-scales-absent", []string{"q.missing_part"}, ""},
	{"vllm-project/vllm 52501", "04-bf16-layer-not-excluded", []string{"q.plain_but_declared"}, ""},
	{"vllm-project/vllm 39764, 35693", "05-fused-on-disk", []string{"arch.unknown_names", "q.fused_split"}, ""},
	{"vllm-project/vllm 53950", "06-scales-without-declaration", []string{"q.undeclared"}, ""},
	{"vllm-project/vllm 11790", "07-part-of-qkv-quantised", []string{"q.fused_split"}, ""},
	{"vllm-project/vllm 54547", "", nil, "the list is right about what is stored; it is the engine's own module names that differ"},
	{"vllm-project/vllm 54900", "09-quark-mxfp4-scales-of-16", []string{"q.shape"}, ""},
	{"vllm-project/vllm 26343, 26092", "10-zero-points-of-the-other-version", []string{"q.values"}, ""},
	{"vllm-project/vllm 17862", "11-zero-points-not-packed", []string{"q.shape"}, ""},
	{"vllm-project/vllm 13640, 1258, 1816, 2419", "12-awq-width-no-multiple", []string{"q.group"}, ""},
	{"vllm-project/vllm 11010, unslothai/unsloth 1380", "13-bnb-skipped-and-stored", []string{"q.quantised_but_ignored"}, ""},
	{"vllm-project/vllm 5569", "", nil, "the checkpoint is sound: an engine did not load the format"},
	{"vllm-project/vllm 31757, 32101", "15-head-ignored-and-stored", []string{"q.quantised_but_ignored"}, ""},
	{"vllm-project/vllm 37667, 49552", "16-draft-layer-plain", []string{"q.plain_but_declared"}, ""},
	{"vllm-project/vllm 53020", "17-tied-head-absent", []string{"arch.head_missing"}, ""},
	{"vllm-project/vllm 2359", "", nil, "routers of AWQ files are plain by custom; the overflow is in values"},
	{"sgl-project/sglang 32279", "19-download-interrupted", []string{"shard.missing"}, ""},
	{"sgl-project/sglang 16235", "20-a-layer-too-many-counted", []string{"arch.layers"}, ""},
	{"sgl-project/sglang 33245", "", nil, "the checkpoint is sound: an engine's fused path had no place for its names"},
	{"sgl-project/sglang 38616", "22-renamed-on-save", []string{"arch.unknown_names"}, ""},
	{"sgl-project/sglang 35797", "", nil, "the list is right about what is stored: an engine read its single entries as the whole block"},
	{"sgl-project/sglang 3571", "24-awq-vlm-group", []string{"q.group"}, ""},
	{"sgl-project/sgl-cookbook 237", "25-cache-without-scales", []string{"q.kv_scales"}, ""},
	{"NVIDIA/Model-Optimizer 1858", "26-router-not-excluded", []string{"q.plain_but_declared"}, ""},
	{"NVIDIA/Model-Optimizer 500", "27-no-activation-scales", []string{"q.missing_part"}, ""},
	{"NVIDIA/Model-Optimizer 20", "28-cache-scales-all-one", []string{"q.values"}, ""},
	{"NVIDIA/TensorRT-LLM 2052", "29-pointer-in-place-of-a-shard", []string{"shard.pointer"}, ""},
	{"NVIDIA/TensorRT-LLM 1677, 6530, 17723", "30-required-scales-absent", []string{"q.missing_part"}, ""},
	{"vllm-project/compressed-tensors 733, 759", "31-routers-left-out-of-ignore", []string{"q.plain_but_declared"}, ""},
	{"vllm-project/vllm-omni 5573", "32-router-built-quantised", []string{"q.plain_but_declared"}, ""},
	{"vllm-project/llm-compressor 959, 967, 1241, 1652, 2163, 2339", "33-scale-on-a-plain-layer", []string{"q.quantised_but_ignored"}, ""},
	{"intel/auto-round 769, 1496", "34-shared-experts-skipped", []string{"q.plain_but_declared"}, ""},
	{"Comfy-Org/ComfyUI 15511", "35-scales-and-no-declaration", []string{"q.undeclared"}, ""},
	{"huggingface/huggingface_hub 4725, 4728", "36-listed-and-not-stored", []string{"idx.tensor_not_in_shard"}, ""},
	{"Blaizzy/mlx-vlm 1827, Neph0s/CoSER 3", "37-stale-index", []string{"shard.extra", "shard.missing"}, ""},
	{"huggingface/transformers 27923, deepseek-ai/DeepSeek-V3 557, turboderp/exllama 242", "38-header-too-large", []string{"arch.layers", "shard.pointer"}, ""},
	{"PaddlePaddle/PaddleFormers 2435, PersuGPT 2", "39-cut-upload", []string{"shard.truncated"}, ""},
	{"huggingface/safetensors 668", "40-header-above-the-limit", []string{"arch.layers", "hdr.length"}, ""},
	{"foundation-model-stack/fastsafetensors 96", "", nil, "an empty __metadata__ is sound: a loader broke on it"},
	{"unslothai/unsloth-zoo 900", "42-odd-shard-names", nil, ""},
	{"JustVugg/colibri 1317", "42-count-right-one-missing", []string{"shard.missing"}, ""},
	{"Blaizzy/mlx-audio 902, manjunathshiva/turboquant-mlx 99", "43-weights-dropped-scales-kept", []string{"q.orphan_part"}, ""},
	{"turboderp/exllama 44, AutoGPTQ 201", "44-order-of-zeros", []string{"q.values"}, ""},
	{"casper-hansen/AutoAWQ 602, 578", "45-k-no-multiple-of-group", []string{"q.group"}, ""},
	{"huggingface/open-r1 663, QwenLM/Qwen3 927, Blaizzy/mlx-vlm 2112", "46-end-token-differs", []string{"tok.eos_mismatch"}, ""},
	{"huggingface/text-generation-inference 3247, hiyouga/LlamaFactory 8399, unslothai/unsloth 2744, 2928", "47-template-lost", []string{"tok.no_template"}, ""},
	{"kongds/E5-V 7, vllm-project/vllm 340, 46470", "48-id-above-the-rows", []string{"tok.id_range"}, ""},
	{"huggingface/transformers 46835", "49-head-of-a-larger-embedding", []string{"arch.embed_rows"}, ""},
	{"QwenLM/Qwen3 714, 930: harmless, nothing may be reported", "50-zero-biases", nil, ""},
}

func TestPublicDefects(t *testing.T) {
	used := map[string]bool{}
	shown := 0
	for _, d := range publicDefects {
		if d.cannot != "" {
			continue
		}
		shown++
		used[d.fixture+".txtar"] = true
		t.Run(d.fixture, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", "public", d.fixture+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for id, v := range judge(t, subject(t, txtar.Parse(text))) {
				// The fixtures are cut out of models: what stands around the defect is not there.
				if s := v.Status(); s != gates.Passed && s != gates.NotApplicable && (id != "arch.required" || slices.Contains(d.want, id)) {
					got = append(got, id)
					t.Logf("%s: %s", id, v.Summary())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, d.want) {
				t.Errorf("%s: found %q, want %q", d.reference, got, d.want)
			}
		})
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "public", "*.txtar"))
	for _, f := range files {
		if !used[filepath.Base(f)] {
			t.Errorf("%s stands in no row", f)
		}
	}
	t.Logf("%d of %d reports are shown by metadata", shown, len(publicDefects))
}
