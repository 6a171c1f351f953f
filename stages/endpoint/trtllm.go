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
