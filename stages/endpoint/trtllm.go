package endpoint

import (
	"context"
	"strings"

	"infbench/gates"
)

var _ = adapt(adapter{name: "tensorrt-llm", rank: 30, recognise: func(ctx context.Context, s *surface) Engine {
	owner := strings.ToLower(s.ownedBy(ctx))
	if strings.Contains(owner, "tensorrt") || strings.Contains(owner, "trtllm") || strings.Contains(string(s.get(ctx, "/prometheus/metrics").body), "trtllm") {
		return trtllm{s}
	}
	return nil
}})

// trtllm is TensorRT-LLM's trtllm-serve. It refuses unknown request fields with 400.
type trtllm struct{ s *surface }

// Name returns "tensorrt-llm".
func (trtllm) Name() string { return "tensorrt-llm" }

// Identify reads /version and /server_info. The model list holds no length.
func (e trtllm) Identify(ctx context.Context) (Build, error) {
	if err := e.s.anew(ctx); err != nil {
		return Build{}, err
	}
	info := e.s.get(ctx, "/server_info").body
	var lines []string
	for _, key := range []string{"max_batch_size", "max_num_tokens", "max_seq_len", "kv_cache_config", "tensor_parallel_size", "backend"} {
		lines = append(lines, key+"="+strings.TrimSpace(jsonAt(info, key).Raw))
	}
	return Build{
		Version:       e.s.json(ctx, "/version", "version").Str,
		ContextTokens: count(jsonAt(info, "max_seq_len")),
		Config:        configHash(lines...),
		Process:       processStart(families(e.s.get(ctx, "/prometheus/metrics").body)),
	}, nil
}

// Unable knows of nothing that is missing.
func (trtllm) Unable(gates.Capability) string { return "" }

// ForceLength sets ignore_eos and min_tokens.
func (trtllm) ForceLength(r Request, tokens int) Request { return vllm{}.ForceLength(r, tokens) }

// Counters reads /prometheus/metrics; /metrics is a list that reading drains.
func (e trtllm) Counters(ctx context.Context) (Counters, error) {
	m, err := e.s.scrape(ctx, "/prometheus/metrics")
	if err != nil {
		return Counters{}, err
	}
	cached := total(m, "trtllm_prompt_cached_tokens_total", "", "")
	return Counters{
		ComputedPrompt: minus(total(m, "trtllm_prompt_tokens_total", "", ""), cached), CachedPrompt: cached,
		Output: total(m, "trtllm_generation_tokens_total", "", ""), Running: total(m, "trtllm_num_requests_running", "", ""), Waiting: total(m, "trtllm_num_requests_waiting", "", ""),
	}, nil
}

// Meter reads /prometheus/metrics. Older builds write a colon behind the prefix.
func (e trtllm) Meter(ctx context.Context) (Meter, error) {
	m, err := e.s.scrape(ctx, "/prometheus/metrics")
	if err != nil {
		return Meter{}, err
	}
	p := metricsPage(m)
	count := func(name string) gates.Count { return p.count("trtllm_"+name, "trtllm:"+name) }
	timer := func(name string) Timer { return p.timer("trtllm_"+name, "trtllm:"+name) }
	cached, prompt := count("prompt_cached_tokens_total"), count("prompt_tokens_total")
	return Meter{
		Prompt: prompt, Computed: minus(prompt, cached), Cached: cached, Output: count("generation_tokens_total"), Finished: count("request_success_total"),
		Drafted: count("spec_decode_num_draft_tokens_total"), Accepted: count("spec_decode_num_accepted_tokens_total"),
		Queue: timer("request_queue_time_seconds"), Prefill: timer("request_prefill_time_seconds"), Decode: timer("request_decode_time_seconds"),
		TTFT: timer("time_to_first_token_seconds"), Gap: timer("time_per_output_token_seconds"), E2E: timer("e2e_request_latency_seconds"),
		Running: count("num_requests_running"), Waiting: count("num_requests_waiting"), KVPermille: p.share("trtllm_kv_cache_utilization", "trtllm:kv_cache_utilization"),
		Process: processStart(m),
	}, nil
}
