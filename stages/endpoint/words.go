package endpoint

import (
	"context"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"infbench/gates"
)

// Word is one thing that an engine says of how it computes, such as its attention backend.
type Word struct{ Name, Value string }

// Words are what an engine says of its kernels and of what went wrong in them. Absent is
// unknown.
type Words struct {
	// Said are its settings, in a fixed order.
	Said []Word
	// GraphsOff says that decoding is not captured into graphs: each step is launched kernel by
	// kernel.
	GraphsOff bool
	// NaN counts requests whose logits held NaN since the server started, where it looks.
	NaN gates.Count
	// Preempted counts requests that were thrown out of a batch.
	Preempted gates.Count
}

// Speaker is implemented by engines that say how they compute.
type Speaker interface {
	Words(context.Context) (Words, error)
}

// Words asks the engine how it computes; nothing where it does not say. An error means that
// the server did not answer.
func (e Endpoint) Words(ctx context.Context) (Words, error) {
	s, ok := e.engine.(Speaker)
	if !ok {
		return Words{}, nil
	}
	w, err := s.Words(ctx)
	for i := range w.Said {
		w.Said[i].Value = gates.Printable(w.Said[i].Value, 60)
	}
	return w, err
}

// say adds a setting that was told.
func (w *Words) say(name, value string) {
	if value = strings.Trim(value, `"`); value != "" && value != "null" && value != "None" {
		w.Said = append(w.Said, Word{name, value})
	}
}

// Words reads the metrics: labels of cache_config_info, and the count of corrupted requests,
// which is there where vLLM was told to look for NaN.
func (v vllm) Words(ctx context.Context) (Words, error) {
	m, err := v.s.scrape(ctx, "/metrics")
	if err != nil {
		return Words{}, nil //nolint:nilerr // a server without metrics says nothing, and is asked other things
	}
	var w Words
	labels := map[string]string{}
	for _, l := range labelsOf(m, "vllm:cache_config_info") {
		name, value, _ := strings.Cut(l, "=")
		labels[name] = value
	}
	for _, l := range []struct{ label, name string }{{"cache_dtype", "KV cache"}, {"block_size", "block"}, {"num_gpu_blocks", "blocks"}, {"enable_prefix_caching", "prefix cache"}} {
		w.say(l.name, labels[l.label])
	}
	w.NaN = firstOf(m, "vllm:corrupted_requests_total", "vllm:corrupted_requests")
	w.Preempted = firstOf(m, "vllm:num_preemptions_total", "vllm:num_preemptions")
	return w, nil
}

// firstOf returns the first metric that is there.
func firstOf(m map[string]*dto.MetricFamily, names ...string) gates.Count {
	for _, name := range names {
		if c := total(m, name, "", ""); c != (gates.Count{}) {
			return c
		}
	}
	return gates.Count{}
}

// sglangWords are the server arguments that say how it computes; nothing else of the object is
// read, which may hold a key.
var sglangWords = []struct{ key, name string }{
	{"attention_backend", "attention"},
	{"prefill_attention_backend", "attention of prefill"},
	{"decode_attention_backend", "attention of decode"},
	{"kv_cache_dtype", "KV cache"},
	{"sampling_backend", "sampling"},
	{"grammar_backend", "grammar"},
	{"moe_runner_backend", "experts"},
	{"quantization", "quantisation"},
	{"chunked_prefill_size", "chunk"},
	{"page_size", "block"},
	{"cuda_graph_max_bs", "largest graph"},
	{"speculative_algorithm", "speculation"},
}

// Words reads the server arguments.
func (e sglang) Words(ctx context.Context) (Words, error) {
	info := e.info(ctx).body
	var w Words
	for _, k := range sglangWords {
		w.say(k.name, strings.TrimSpace(jsonAt(info, k.key).Raw))
	}
	w.GraphsOff = jsonAt(info, "disable_cuda_graph").Bool()
	return w, nil
}

// Words reads /server_info.
func (e trtllm) Words(ctx context.Context) (Words, error) {
	info := e.s.get(ctx, "/server_info").body
	var w Words
	w.say("backend", jsonAt(info, "backend").Str)
	w.say("KV cache", jsonAt(info, "kv_cache_config.dtype").Str)
	w.say("largest batch", jsonAt(info, "max_batch_size").Raw)
	w.say("chunk", jsonAt(info, "max_num_tokens").Raw)
	return w, nil
}

// Words reads /props, which says little: llama.cpp tells its kernels to its log alone.
func (e llamacpp) Words(ctx context.Context) (Words, error) {
	var w Words
	w.say("build", e.s.json(ctx, "/props", "build_info").Str)
	return w, nil
}
