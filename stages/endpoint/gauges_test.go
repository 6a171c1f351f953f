package endpoint

import (
	"net/http"
	"syscall"
	"testing"

	"infbench/gates"
)

func TestGauges(t *testing.T) {
	t.Parallel()
	n, none := gates.CountOf, gates.Count{}
	for name, c := range map[string]struct {
		path, text string
		engine     func(*surface) Gauged
		want       Gauges
	}{
		"vllm": {"/metrics", `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 2
vllm:num_requests_running{engine="1"} 1
vllm:num_requests_waiting{engine="0"} 0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{engine="0"} 3
vllm:generation_tokens_total 70
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 2.5e+09
`, func(s *surface) Gauged { return vllm{s} }, Gauges{n(3), n(0), n(500), n(3), n(70), n(2_500_000_000)}},
		"vllm older": {"/metrics", "vllm:gpu_cache_usage_perc 0.1234\n", func(s *surface) Gauged { return vllm{s} }, Gauges{KVPermille: n(123)}},
		"sglang":     {"/metrics", "sglang:num_running_reqs 1\nsglang:num_queue_reqs 4\nsglang:token_usage 0.02\nsglang:generation_tokens_total 9\n", func(s *surface) Gauged { return sglang{s} }, Gauges{n(1), n(4), n(20), none, n(9), none}},
		"llama.cpp":  {"/metrics", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:tokens_predicted_total 8\n", func(s *surface) Gauged { return llamacpp{s} }, Gauges{n(1), n(0), none, none, n(8), none}},
		"trtllm":     {"/prometheus/metrics", "trtllm_num_requests_running 1\ntrtllm_kv_cache_utilization 1.5\n", func(s *surface) Gauged { return trtllm{s} }, Gauges{Running: n(1)}},
		"any":        {"/metrics", "process_resident_memory_bytes 1024\n", func(s *surface) Gauged { return generic{s} }, Gauges{ResidentBytes: n(1024)}},
		"no page":    {"/elsewhere", "x 1\n", func(s *surface) Gauged { return vllm{s} }, Gauges{}},
		"no metrics": {"/metrics", "<html>", func(s *surface) Gauged { return llamacpp{s} }, Gauges{}},
	} {
		if got, err := c.engine(surfaceOver(t, page(c.path, c.text))).Gauges(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	away := surfaceOver(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }))
	if _, err := (vllm{away}).Gauges(t.Context()); err == nil {
		t.Error("a server that is away shows gauges")
	}
}
