package endpoint

import (
	"context"
	"errors"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"infbench/gates"
)

// Gauges are what an engine's metrics page shows of it at one instant, and counters that
// only a restart takes back. Absent is unknown, not 0.
type Gauges struct {
	// Running and Waiting count requests.
	Running gates.Count `json:"running"`
	Waiting gates.Count `json:"waiting"`
	// KVPermille is the share of the KV cache that is in use, in thousandths.
	KVPermille gates.Count `json:"kv_permille"`
	// Preempted counts requests that were thrown out of a batch since the server started.
	Preempted gates.Count `json:"preempted"`
	// Output counts generated tokens since the server started. It is not written: beside
	// times it would be a rate.
	Output gates.Count `json:"-"`
	// ResidentBytes is the memory of the process that serves the page.
	ResidentBytes gates.Count `json:"resident_bytes"`
}

// Gauged is implemented by engines whose metrics page is known.
type Gauged interface {
	Gauges(context.Context) (Gauges, error)
}

// Gauges reads the engine's metrics page; all are absent where there is none. An error means
// that the server did not answer.
func (e Endpoint) Gauges(ctx context.Context) (Gauges, error) {
	if g, ok := e.engine.(Gauged); ok {
		return g.Gauges(ctx)
	}
	return Gauges{}, nil
}

// gaugeNames say where an engine's page has what. The first name that is there counts.
type gaugeNames struct {
	path                                    string
	running, waiting, kv, preempted, output []string
}

// gauges reads a page by the names of an engine.
func (s *surface) gauges(ctx context.Context, n gaugeNames) (Gauges, error) {
	_, body, err := s.client.get(ctx, n.path)
	var f *Failure
	switch {
	case errors.As(err, &f) && f.Status != 0:
		return Gauges{}, nil // it answered, and shows no such page
	case err != nil:
		return Gauges{}, err
	}
	const resident = "process_resident_memory_bytes"
	p := metricsPage(families(only(body, slices.Concat(n.running, n.waiting, n.kv, n.preempted, n.output, []string{resident}))))
	return Gauges{
		Running: p.count(n.running...), Waiting: p.count(n.waiting...), KVPermille: p.share(n.kv...), Preempted: p.count(n.preempted...), Output: p.count(n.output...), ResidentBytes: p.count(resident),
	}, nil
}

// largest returns the largest value of a gauge over its label sets: of several engines the
// fullest.
func largest(families map[string]*dto.MetricFamily, name string) (most float64, ok bool) {
	for _, m := range families[name].GetMetric() {
		if v := m.GetGauge().GetValue() + m.GetUntyped().GetValue(); !ok || v > most {
			most, ok = v, true
		}
	}
	return most, ok
}

// Gauges reads vLLM's page.
func (v vllm) Gauges(ctx context.Context) (Gauges, error) {
	return v.s.gauges(ctx, gaugeNames{
		path: "/metrics", running: []string{"vllm:num_requests_running"}, waiting: []string{"vllm:num_requests_waiting"},
		kv: []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"}, preempted: []string{"vllm:num_preemptions_total"}, output: []string{"vllm:generation_tokens_total"},
	})
}

// Gauges reads SGLang's page. Its count of retracted requests is a gauge and no counter.
func (e sglang) Gauges(ctx context.Context) (Gauges, error) {
	return e.s.gauges(ctx, gaugeNames{
		path: "/metrics", running: []string{"sglang:num_running_reqs"}, waiting: []string{"sglang:num_queue_reqs"},
		kv: []string{"sglang:token_usage"}, output: []string{"sglang:generation_tokens_total"},
	})
}

// Gauges reads llama.cpp's page, which is there with --metrics. It shows no memory.
func (e llamacpp) Gauges(ctx context.Context) (Gauges, error) {
	return e.s.gauges(ctx, gaugeNames{
		path: "/metrics", running: []string{"llamacpp:requests_processing"}, waiting: []string{"llamacpp:requests_deferred"},
		kv: []string{"llamacpp:kv_cache_usage_ratio"}, output: []string{"llamacpp:tokens_predicted_total"},
	})
}

// Gauges reads TensorRT-LLM's page.
func (e trtllm) Gauges(ctx context.Context) (Gauges, error) {
	return e.s.gauges(ctx, gaugeNames{
		path: "/prometheus/metrics", running: []string{"trtllm_num_requests_running"}, waiting: []string{"trtllm_num_requests_waiting"},
		kv: []string{"trtllm_kv_cache_utilization"}, output: []string{"trtllm_generation_tokens_total"},
	})
}

// Gauges reads what any process of the usual libraries shows of itself.
func (g generic) Gauges(ctx context.Context) (Gauges, error) {
	return g.s.gauges(ctx, gaugeNames{path: "/metrics"})
}
