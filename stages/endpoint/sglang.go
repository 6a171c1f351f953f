package endpoint

import (
	"context"
	"strings"

	"infbench/gates"
)

var _ = adapt(adapter{name: "sglang", rank: 20, recognise: func(ctx context.Context, s *surface) Engine {
	if s.ownedBy(ctx) == "sglang" || s.hasMetrics(ctx, "sglang:") || jsonAt(sglang{s}.info(ctx).body, "version").Exists() && s.json(ctx, "/get_model_info", "model_path").Exists() {
		return sglang{s}
	}
	return nil
}})

// sglang is SGLang.
type sglang struct{ s *surface }

// Name returns "sglang".
func (sglang) Name() string { return "sglang" }

// sglangConfig lists the server arguments that enter the hash. The whole object may
// hold the API key and local paths, so nothing else is taken.
var sglangConfig = []string{
	"dtype", "quantization", "kv_cache_dtype", "context_length", "tp_size", "dp_size", "pp_size", "max_running_requests", "chunked_prefill_size",
	"mem_fraction_static", "attention_backend", "moe_runner_backend", "disable_radix_cache", "disable_cuda_graph", "disable_overlap_schedule",
	"speculative_algorithm", "enable_deterministic_inference", "tool_call_parser", "reasoning_parser", "random_seed",
}

func (e sglang) info(ctx context.Context) reply {
	if r := e.s.get(ctx, "/get_server_info"); r.status == 200 {
		return r
	}
	return e.s.get(ctx, "/server_info")
}

// Identify reads /get_server_info (newer: /server_info), /get_model_info and the
// model list.
func (e sglang) Identify(ctx context.Context) (Build, error) {
	if err := e.s.anew(ctx); err != nil {
		return Build{}, err
	}
	info := e.info(ctx).body
	var lines []string
	for _, key := range sglangConfig {
		lines = append(lines, key+"="+strings.TrimSpace(jsonAt(info, key).Raw))
	}
	return Build{
		Version:       jsonAt(info, "version").Str,
		Device:        jsonAt(info, "device").Str,
		Checkpoint:    baseName(e.s.json(ctx, "/get_model_info", "model_path").Str),
		ContextTokens: count(e.s.listed(ctx, "max_model_len")),
		Config:        configHash(lines...),
		Process:       processStart(e.s.metrics(ctx)),
	}, nil
}

// Unable knows that the radix cache was switched off, where the server says so.
func (e sglang) Unable(c gates.Capability) string {
	if c == PrefixCache && jsonAt(e.info(context.Background()).body, "disable_radix_cache").Bool() {
		return "the radix cache is switched off (disable_radix_cache)"
	}
	return ""
}

// CountTokens asks POST /tokenize.
func (e sglang) CountTokens(ctx context.Context, text string) (int, error) {
	return tokenizeCount(ctx, e.s, map[string]any{"model": e.s.model, "prompt": text, "add_special_tokens": false})
}

// FlushCache asks /flush_cache; a 400 means that requests were running and nothing
// was done.
func (e sglang) FlushCache(ctx context.Context) error {
	_, err := e.s.post(ctx, "/flush_cache", []byte("{}"))
	return err
}

// ForceLength sets ignore_eos and min_tokens.
func (sglang) ForceLength(r Request, tokens int) Request { return vllm{}.ForceLength(r, tokens) }

// Counters reads /metrics, which SGLang serves with --enable-metrics. The prompt
// counter includes cached tokens.
func (e sglang) Counters(ctx context.Context) (Counters, error) {
	m, err := e.s.scrape(ctx, "/metrics")
	if err != nil {
		return Counters{}, err
	}
	cached := total(m, "sglang:cached_tokens_total", "", "")
	return Counters{
		ComputedPrompt: minus(total(m, "sglang:prompt_tokens_total", "", ""), cached), CachedPrompt: cached,
		Output: total(m, "sglang:generation_tokens_total", "", ""), Running: total(m, "sglang:num_running_reqs", "", ""), Waiting: total(m, "sglang:num_queue_reqs", "", ""),
	}, nil
}

// Sees reads whether the model was loaded with eyes.
func (e sglang) Sees(ctx context.Context) bool {
	return e.s.json(ctx, "/get_model_info", "has_image_understanding").Bool()
}

// Meter reads /metrics. Every rank of an engine that is split over devices counts the same,
// so that the first alone is read. The sum of the times between tokens is the time of
// decoding; there is no other timer of it.
func (e sglang) Meter(ctx context.Context) (Meter, error) {
	m, err := e.s.scrape(ctx, "/metrics")
	if err != nil {
		return Meter{}, err
	}
	p := metricsPage(m).without("tp_rank", "0").without("pp_rank", "0")
	cached, prompt := p.count("sglang:cached_tokens_total"), p.count("sglang:prompt_tokens_total")
	return Meter{
		Prompt: prompt, Computed: minus(prompt, cached), Cached: cached,
		Output: p.count("sglang:generation_tokens_total"), Finished: p.count("sglang:num_requests_total"), Preempted: p.count("sglang:num_retracted_requests_total"),
		Queue: p.timer("sglang:queue_time_seconds"), Prefill: p.histogram("sglang:per_stage_req_latency_seconds", "stage", "prefill_forward"),
		TTFT: p.timer("sglang:time_to_first_token_seconds"), Gap: p.timer("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"), E2E: p.timer("sglang:e2e_request_latency_seconds"),
		Running: p.count("sglang:num_running_reqs"), Waiting: p.count("sglang:num_queue_reqs"), KVPermille: p.share("sglang:token_usage"),
		Process: processStart(m),
	}, nil
}
