package endpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"infbench/gates"
)

var _ = adapt(adapter{name: "llama.cpp", rank: 20, recognise: func(ctx context.Context, s *surface) Engine {
	if s.ownedBy(ctx) == "llamacpp" || s.hasMetrics(ctx, "llamacpp:") || s.json(ctx, "/props", "default_generation_settings").Exists() {
		return llamacpp{s}
	}
	return nil
}})

// llamacpp is llama.cpp's own server.
type llamacpp struct{ s *surface }

// Name returns "llama.cpp".
func (llamacpp) Name() string { return "llama.cpp" }

// Identify reads /props and the model list. Of the model's path only the last
// element is kept.
func (e llamacpp) Identify(ctx context.Context) (Build, error) {
	if err := e.s.anew(ctx); err != nil {
		return Build{}, err
	}
	props := e.s.get(ctx, "/props").body
	get := func(key string) gjson.Result { return jsonAt(props, key) }
	file := baseName(get("model_path").Str)
	return Build{
		Version:       get("build_info").Str,
		Checkpoint:    file,
		ContextTokens: count(get("default_generation_settings.n_ctx")),
		Slots:         count(get("total_slots")),
		Config: configHash("n_ctx="+get("default_generation_settings.n_ctx").Raw, "slots="+get("total_slots").Raw, "file="+file,
			"template="+configHash(get("chat_template").Str), "params="+e.s.listed(ctx, "meta.n_params").Raw, "size="+e.s.listed(ctx, "meta.size").Raw),
		Process: e.process(ctx, get("media_marker").Str),
	}, nil
}

// process marks the server process: by its start time where the metrics hold it,
// else by the media marker, which llama.cpp draws at random when it starts.
func (e llamacpp) process(ctx context.Context, marker string) string {
	if start := processStart(e.s.metrics(ctx)); start != "" || marker == "" {
		return start
	}
	return "marker " + configHash(marker)
}

// Unable reads from /props whether the chat template knows tools.
func (e llamacpp) Unable(c gates.Capability) string {
	if c == Tools {
		caps := e.s.json(context.Background(), "/props", "chat_template_caps")
		if v := caps.Get("supports_tools"); v.Exists() && !v.Bool() && !caps.Get("supports_tool_calls").Bool() {
			return "the model's chat template knows no tools (chat_template_caps)"
		}
	}
	return ""
}

// CountTokens asks POST /tokenize in llama.cpp's own form.
func (e llamacpp) CountTokens(ctx context.Context, text string) (int, error) {
	return tokenizeCount(ctx, e.s, map[string]any{"content": text, "add_special": false})
}

// ChatTokens asks for the text of a conversation behind the template, and then for the
// tokens as the server would make them.
func (e llamacpp) ChatTokens(ctx context.Context, r Request) ([]int, error) {
	b, err := json.Marshal(map[string]any{"messages": r.messages})
	if err != nil {
		return nil, err
	}
	body, err := e.s.post(ctx, "/apply-template", b)
	if err != nil {
		return nil, fmt.Errorf("apply the template: %w", err)
	}
	prompt := jsonAt(body, "prompt")
	if !prompt.Exists() {
		return nil, ErrNoTokenizer
	}
	return tokenIDs(ctx, e.s, map[string]any{"content": prompt.Str, "add_special": true, "parse_special": true})
}

// Cold switches the prompt cache off for the request.
func (llamacpp) Cold(r Request, _ string) (Request, string) {
	return r.field("cache_prompt", false), "cache_prompt: false"
}

// ForceLength sets ignore_eos.
func (llamacpp) ForceLength(r Request, tokens int) Request {
	return r.MaxTokens(tokens).field("ignore_eos", true)
}

// Counters reads /metrics, which llama.cpp serves with --metrics. Its prompt counter
// leaves cached tokens out.
func (e llamacpp) Counters(ctx context.Context) (Counters, error) {
	m, err := e.s.scrape(ctx, "/metrics")
	if err != nil {
		return Counters{}, err
	}
	return Counters{
		ComputedPrompt: total(m, "llamacpp:prompt_tokens_total", "", ""), CachedPrompt: total(m, "llamacpp:prompt_tokens_cached_total", "", ""),
		Output: total(m, "llamacpp:tokens_predicted_total", "", ""), Running: total(m, "llamacpp:requests_processing", "", ""), Waiting: total(m, "llamacpp:requests_deferred", "", ""),
	}, nil
}

// Sees reports true: llama.cpp refuses pictures for a model without its vision part.
func (llamacpp) Sees(context.Context) bool { return true }

// Meter reads /metrics. Servers that count cached tokens add up the time of batches for
// prompts, older ones that of each request; no server counts requests.
func (e llamacpp) Meter(ctx context.Context) (Meter, error) {
	m, err := e.s.scrape(ctx, "/metrics")
	if err != nil {
		return Meter{}, err
	}
	p := metricsPage(m)
	cached, computed := p.count("llamacpp:prompt_tokens_cached_total"), p.count("llamacpp:prompt_tokens_total")
	_, newer := cached.N()
	return Meter{
		Prompt: plus(computed, cached), Computed: computed, Cached: cached, Output: p.count("llamacpp:tokens_predicted_total"),
		Drafted: p.count("llamacpp:spec_decode_num_draft_tokens_total"), Accepted: p.count("llamacpp:spec_decode_num_accepted_tokens_total"),
		Prefill: p.seconds("llamacpp:prompt_seconds_total"), Decode: p.seconds("llamacpp:tokens_predicted_seconds_total"), Batched: newer,
		Running: p.count("llamacpp:requests_processing"), Waiting: p.count("llamacpp:requests_deferred"), KVPermille: p.share("llamacpp:kv_cache_usage_ratio"),
		Process: processStart(m),
	}, nil
}
