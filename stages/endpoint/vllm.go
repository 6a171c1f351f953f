package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"infbench/gates"
)

var _ = adapt(adapter{name: "vllm", rank: 20, recognise: func(ctx context.Context, s *surface) Engine {
	if s.ownedBy(ctx) == "vllm" || s.hasMetrics(ctx, "vllm:") {
		return vllm{s}
	}
	return nil
}})

// vllm is vLLM and what keeps its names: hardware forks and plugins.
type vllm struct{ s *surface }

// Name returns "vllm".
func (vllm) Name() string { return "vllm" }

// Identify reads /version, the model list and the cache_config_info metric.
func (v vllm) Identify(ctx context.Context) (Build, error) {
	if err := v.s.anew(ctx); err != nil {
		return Build{}, err
	}
	list := modelsIn(v.s.get(ctx, modelsPath).body)
	metrics := v.s.metrics(ctx)
	b := Build{
		Version:       v.s.json(ctx, "/version", "version").Str,
		Checkpoint:    baseName(v.s.listed(ctx, "root").Str),
		ContextTokens: count(v.s.listed(ctx, "max_model_len")),
		Process:       processStart(metrics),
	}
	b.Config = configHash(append(labelsOf(metrics, "vllm:cache_config_info"), "models="+strings.Join(list, ","),
		"max_model_len="+v.s.listed(ctx, "max_model_len").Raw)...)
	return b, nil
}

// Unable knows that the prefix cache was switched off, where the metrics say so.
func (v vllm) Unable(c gates.Capability) string {
	if c == PrefixCache {
		for _, l := range labelsOf(v.s.metrics(context.Background()), "vllm:cache_config_info") {
			if l == "enable_prefix_caching=False" {
				return "prefix caching is switched off (cache_config_info)"
			}
		}
	}
	return ""
}

// CountTokens asks POST /tokenize, which stands at the root.
func (v vllm) CountTokens(ctx context.Context, text string) (int, error) {
	return tokenizeCount(ctx, v.s, map[string]any{"model": v.s.model, "prompt": text, "add_special_tokens": false})
}

// ChatTokens asks POST /tokenize for a conversation.
func (v vllm) ChatTokens(ctx context.Context, r Request) ([]int, error) {
	return tokenIDs(ctx, v.s, map[string]any{"model": v.s.model, "messages": r.messages})
}

// tokenIDs returns the ids that /tokenize gives.
func tokenIDs(ctx context.Context, s *surface, payload map[string]any) ([]int, error) {
	b, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	body, err := s.post(ctx, "/tokenize", b)
	if err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	var out []int
	for _, t := range jsonAt(body, "tokens").Array() {
		out = append(out, int(t.Int()))
	}
	if out == nil {
		return nil, ErrNoTokenizer
	}
	return out, nil
}

func tokenizeCount(ctx context.Context, s *surface, payload map[string]any) (int, error) {
	b, err := json.Marshal(payload)
	if err != nil {
		return 0, err
	}
	body, err := s.post(ctx, "/tokenize", b)
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	if n, ok := count(jsonAt(body, "count")).N(); ok {
		return n, nil
	}
	if tokens := jsonAt(body, "tokens"); tokens.IsArray() {
		return int(jsonAt(body, "tokens.#").Int()), nil
	}
	return 0, ErrNoTokenizer
}

// Cold gives the request a cache namespace of its own.
func (vllm) Cold(r Request, salt string) (Request, string) {
	return r.field("cache_salt", salt), "cache_salt"
}

// ForceLength sets ignore_eos and min_tokens.
func (vllm) ForceLength(r Request, tokens int) Request {
	return r.MaxTokens(tokens).field("ignore_eos", true).field("min_tokens", tokens)
}

// Counters reads /metrics. The prompt counter includes cached tokens; the counter by
// source does not, where there is one.
func (v vllm) Counters(ctx context.Context) (Counters, error) {
	m, err := v.s.scrape(ctx, "/metrics")
	if err != nil {
		return Counters{}, err
	}
	cached := either(total(m, "vllm:prompt_tokens_cached_total", "", ""), total(m, "vllm:prompt_tokens_by_source_total", "source", "local_cache_hit"))
	return Counters{
		ComputedPrompt: either(total(m, "vllm:prompt_tokens_by_source_total", "source", "local_compute"), minus(total(m, "vllm:prompt_tokens_total", "", ""), cached)),
		CachedPrompt:   cached, Output: total(m, "vllm:generation_tokens_total", "", ""),
		Running: total(m, "vllm:num_requests_running", "", ""), Waiting: total(m, "vllm:num_requests_waiting", "", ""),
	}, nil
}

// FlushCache asks /reset_prefix_cache, which vLLM routes in its development mode only.
func (v vllm) FlushCache(ctx context.Context) error {
	_, err := v.s.post(ctx, "/reset_prefix_cache", []byte("{}"))
	return err
}

// Sees reports true: vLLM refuses pictures for a model that has no eyes.
func (vllm) Sees(context.Context) bool { return true }

// Meter reads /metrics. Phase histograms fill when a request finishes.
func (v vllm) Meter(ctx context.Context) (Meter, error) {
	m, err := v.s.scrape(ctx, "/metrics")
	if err != nil {
		return Meter{}, err
	}
	p := metricsPage(m)
	cached := either(p.count("vllm:prompt_tokens_cached_total"), total(m, "vllm:prompt_tokens_by_source_total", "source", "local_cache_hit"))
	prompt := p.count("vllm:prompt_tokens_total")
	return Meter{
		Prompt: prompt, Computed: either(total(m, "vllm:prompt_tokens_by_source_total", "source", "local_compute"), minus(prompt, cached)), Cached: cached,
		CacheQueries: p.count("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"), CacheHits: p.count("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
		Output: p.count("vllm:generation_tokens_total"), Finished: p.count("vllm:request_success_total"), Preempted: p.count("vllm:num_preemptions_total"),
		Drafted: p.count("vllm:spec_decode_num_draft_tokens_total"), Accepted: p.count("vllm:spec_decode_num_accepted_tokens_total"),
		Queue: p.timer("vllm:request_queue_time_seconds"), Prefill: p.timer("vllm:request_prefill_time_seconds"), Decode: p.timer("vllm:request_decode_time_seconds"),
		TTFT: p.timer("vllm:time_to_first_token_seconds"), Gap: p.timer("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"), E2E: p.timer("vllm:e2e_request_latency_seconds"),
		Running: p.count("vllm:num_requests_running"), Waiting: p.count("vllm:num_requests_waiting"), KVPermille: p.share("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
		Process: processStart(m),
	}, nil
}
