package refengine_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/tidwall/gjson"

	"infbench/internal/refengine"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	e := engine(t, refengine.Config{Model: "m", ContextLength: 1000, Version: "1.2"})
	m := gjson.Get(get(t, e, "/v1/models").Body.String(), "data.0")
	if m.Get("id").Str != "m" || m.Get("root").Str != "m" || m.Get("max_model_len").Int() != 1000 || m.Get("owned_by").Str != "infbench" {
		t.Errorf("models: %s", m)
	}
	v := gjson.Parse(get(t, e, "/version").Body.String())
	if v.Get("version").Str != "1.2" || v.Get("engine").Str != "infbench-reference" || v.Get("device").Str != "none (clock model)" {
		t.Errorf("version: %s", v)
	}
	for _, path := range []string{"/health", "/ping"} {
		if w := get(t, e, path); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := get(t, e, "/nothing"); w.Code != http.StatusNotFound || !gjson.Get(w.Body.String(), "error.message").Exists() {
		t.Errorf("unknown path: %d %s", w.Code, w.Body)
	}
}

func TestKeyGuardsV1Only(t *testing.T) {
	t.Parallel()
	e := engine(t, refengine.Config{APIKey: "k"})
	for _, c := range []struct {
		path, header string
		status       int
	}{
		{"/v1/models", "", 401},
		{"/v1/models", "Bearer x", 401},
		{"/v1/models", "k", 401},
		{"/v1/models", "Bearer k", 200},
		{"/health", "", 200},
		{"/metrics", "", 200},
		{"/version", "", 200},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if w.Code != c.status || c.status == 401 && !gjson.Get(w.Body.String(), "error.message").Exists() {
			t.Errorf("%s with %q: got %d %s, want %d", c.path, c.header, w.Code, w.Body, c.status)
		}
	}
}

func TestTokenizeCountsAsUsageDoes(t *testing.T) {
	t.Parallel()
	e := fast(t)
	messages := `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"héllo wörld 123456"}]`
	count := gjson.Get(post(t.Context(), e, "/tokenize", `{"model":"infbench-reference",`+messages+`}`).Body.String(), "count").Int()
	used := gjson.Get(post(t.Context(), e, chat, `{`+messages+`,"max_tokens":1}`).Body.String(), "usage.prompt_tokens").Int()
	if count != used || count == 0 {
		t.Errorf("tokenize counts %d, usage %d", count, used)
	}
	r := gjson.Parse(post(t.Context(), e, "/tokenize", `{"prompt":"The code is 48213907."}`).Body.String())
	if r.Get("count").Int() != 8 || r.Get("tokens.#").Int() != 8 || r.Get("max_model_len").Int() != 32768 {
		t.Errorf("tokenize: %s", r)
	}
	back := post(t.Context(), e, "/detokenize", `{"tokens":`+r.Get("tokens").Raw+`}`)
	if got := gjson.Get(back.Body.String(), "prompt").Str; got != "The code is 48213907." {
		t.Errorf("detokenize: %q", got)
	}
}

func TestCompletionsAnswerLikeChat(t *testing.T) {
	t.Parallel()
	e := fast(t)
	prompt := "The secret code is 48213907. What is the secret code?"
	w := post(t.Context(), e, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":50,"logprobs":2}`, prompt))
	r := gjson.Parse(w.Body.String())
	text := r.Get("choices.0.text").Str
	if text != "The secret code is 48213907." || r.Get("object").Str != "text_completion" {
		t.Errorf("got %s", w.Body)
	}
	joined := ""
	for _, s := range r.Get("choices.0.logprobs.tokens").Array() {
		joined += s.Str
	}
	if joined != text || r.Get("choices.0.logprobs.token_logprobs.#").Int() != r.Get("choices.0.logprobs.tokens.#").Int() {
		t.Errorf("logprobs: %s", r.Get("choices.0.logprobs"))
	}
	s := post(t.Context(), e, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"stream":true}`, prompt)).Body.String()
	var streamedText string
	for _, event := range strings.Split(s, "\n\n") {
		streamedText += gjson.Get(strings.TrimPrefix(event, "data: "), "choices.0.text").Str
	}
	if streamedText != text || !strings.HasSuffix(s, "data: [DONE]\n\n") {
		t.Errorf("streamed: %s", s)
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	e := fast(t)
	w := post(t.Context(), e, "/v1/embeddings", `{"input":["a red boat","a red boats","seventeen lanterns glow"]}`)
	var vs [3][]float64
	for i, d := range gjson.Get(w.Body.String(), "data").Array() {
		norm := 0.0
		for _, x := range d.Get("embedding").Array() {
			vs[i] = append(vs[i], x.Num)
			norm += x.Num * x.Num
		}
		if math.Abs(norm-1) > 1e-6 {
			t.Errorf("vector %d has norm² %g", i, norm)
		}
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	if near, far := dot(vs[0], vs[1]), dot(vs[0], vs[2]); near <= far {
		t.Errorf("texts with common words: %g, without: %g", near, far)
	}
	if again := post(t.Context(), e, "/v1/embeddings", `{"input":["a red boat","a red boats","seventeen lanterns glow"]}`); again.Body.String() != w.Body.String() {
		t.Error("embeddings differ between two requests")
	}
}

func TestCachedTokensAndMetrics(t *testing.T) {
	t.Parallel()
	e := fast(t)
	b := body(strings.Repeat("The river is wide and calm. ", 60)+"Reply with OK", `"max_tokens":5`)
	cold := plain(t, post(t.Context(), e, chat, b)).usage
	warm := plain(t, post(t.Context(), e, chat, b)).usage
	p := cold.Get("prompt_tokens").Int()
	if c := cold.Get("prompt_tokens_details.cached_tokens"); !c.Exists() || c.Int() != 0 {
		t.Errorf("cold: %s", cold)
	}
	if c := warm.Get("prompt_tokens_details.cached_tokens").Int(); c != (p-1)/16*16 {
		t.Errorf("warm: %d of %d cached", c, p)
	}
	salted := plain(t, post(t.Context(), e, chat, strings.TrimSuffix(b, "}")+`,"cache_salt":"s"}`)).usage
	if c := salted.Get("prompt_tokens_details.cached_tokens").Int(); c != 0 {
		t.Errorf("another salt hit %d tokens", c)
	}
	post(t.Context(), e, "/reset_prefix_cache", "")
	reset := plain(t, post(t.Context(), e, chat, b)).usage
	if c := reset.Get("prompt_tokens_details.cached_tokens").Int(); c != 0 {
		t.Errorf("after the reset %d tokens hit", c)
	}
	m := scrape(t, e)
	hits := float64((p - 1) / 16 * 16)
	for name, want := range map[string]float64{
		"vllm:prompt_tokens_total": float64(4 * p), "vllm:prompt_tokens_cached_total": hits,
		"vllm:prefix_cache_queries_total": float64(4 * p), "vllm:prefix_cache_hits_total": hits,
		"vllm:prompt_tokens_by_source_total:local_compute": 4*float64(p) - hits, "vllm:prompt_tokens_by_source_total:local_cache_hit": hits,
		"vllm:request_success_total:stop": 4, "vllm:generation_tokens_total": 8,
		"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0,
		"vllm:time_to_first_token_seconds": 4, "vllm:inter_token_latency_seconds": 4, "vllm:e2e_request_latency_seconds": 4,
		"vllm:request_queue_time_seconds": 4, "vllm:request_prefill_time_seconds": 4, "vllm:request_decode_time_seconds": 4,
		"vllm:request_inference_time_seconds": 4, "vllm:request_time_per_output_token_seconds": 4,
		"vllm:request_prompt_tokens": 4, "vllm:request_generation_tokens": 4, "vllm:request_prefill_kv_computed_tokens": 4,
		"vllm:num_preemptions_total": 0, "vllm:cache_config_info": 1,
	} {
		if got, ok := m[name]; !ok || got != want {
			t.Errorf("%s: got %g (present %v), want %g", name, got, ok, want)
		}
	}
}

// scrape parses the metrics page with the reference parser. Histograms come out as
// their number of samples.
func scrape(t *testing.T, e http.Handler) map[string]float64 {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(get(t, e, "/metrics").Body)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				if l.GetName() == "source" || l.GetName() == "finished_reason" {
					key += ":" + l.GetValue()
				}
			}
			switch {
			case m.GetHistogram() != nil:
				out[key] = float64(m.GetHistogram().GetSampleCount())
			case m.GetCounter() != nil:
				out[key] = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				out[key] = m.GetGauge().GetValue()
			default:
				out[key] = m.GetUntyped().GetValue()
			}
		}
	}
	return out
}

func TestServe(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	e := fast(t)
	s, err := refengine.Serve(ctx, "", e)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Addr(), "127.0.0.1:") {
		t.Errorf("listens on %s", s.Addr())
	}
	client := &http.Client{Transport: &http.Transport{}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+chat, strings.NewReader(body("Reply with OK", `"stream":true`)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !strings.HasSuffix(string(data), "data: [DONE]\n\n") {
		t.Errorf("got %q, %v", data, err)
	}
	client.CloseIdleConnections()
	cancel()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := refengine.Serve(t.Context(), "no port", e); err == nil {
		t.Error("a bad address was accepted")
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]refengine.Config{
		"negative context":   {ContextLength: -1},
		"too few blocks":     {KVBlocks: 4},
		"odd field":          {ReasoningField: "thoughts"},
		"batch over step":    {MaxRunning: 100, StepTokens: 50},
		"negative queue":     {MaxQueue: -1},
		"negative blocksize": {BlockSize: -16},
	} {
		if e, err := refengine.New(c); err == nil {
			_ = e.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}
