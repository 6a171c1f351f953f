package endpoint

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"infbench/gates"
)

const ms1 = time.Millisecond

func timer(sum time.Duration, n int) Timer { return Timer{gates.SpanOf(sum), gates.CountOf(n)} }

// Each engine's page, and what of it is read. The figures are round, so that a sum over the
// wrong label sets shows.
func TestMeters(t *testing.T) {
	t.Parallel()
	n := gates.CountOf
	for name, c := range map[string]struct {
		path, text string
		engine     func(*surface) Clocked
		want       Meter
	}{
		"vllm": {"/metrics", `# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0"} 1000
vllm:prompt_tokens_total{engine="1"} 200
vllm:prompt_tokens_by_source_total{source="local_compute",engine="0"} 300
vllm:prompt_tokens_by_source_total{source="local_cache_hit",engine="0"} 900
vllm:prompt_tokens_cached_total 900
vllm:prefix_cache_queries_total 1200
vllm:prefix_cache_hits_total 896
vllm:generation_tokens_total 640
vllm:request_success_total{finished_reason="stop"} 3
vllm:request_success_total{finished_reason="length"} 7
vllm:num_preemptions_total 2
vllm:spec_decode_num_draft_tokens_total 100
vllm:spec_decode_num_accepted_tokens_total 70
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3"} 9
vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf"} 9
vllm:request_queue_time_seconds_sum{engine="0"} 0.5
vllm:request_queue_time_seconds_count{engine="0"} 9
vllm:request_queue_time_seconds_bucket{engine="1",le="+Inf"} 1
vllm:request_queue_time_seconds_sum{engine="1"} 0.25
vllm:request_queue_time_seconds_count{engine="1"} 1
vllm:request_prefill_time_seconds_sum 2
vllm:request_prefill_time_seconds_count 10
vllm:request_decode_time_seconds_sum 12
vllm:request_decode_time_seconds_count 10
vllm:time_to_first_token_seconds_sum 3
vllm:time_to_first_token_seconds_count 10
vllm:inter_token_latency_seconds_sum 12
vllm:inter_token_latency_seconds_count 630
vllm:e2e_request_latency_seconds_sum 15
vllm:e2e_request_latency_seconds_count 10
vllm:num_requests_running 2
vllm:num_requests_waiting 1
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
process_start_time_seconds 1.7e9
`, func(s *surface) Clocked { return vllm{s} }, Meter{
			Prompt: n(1200), Computed: n(300), Cached: n(900), CacheQueries: n(1200), CacheHits: n(896), Output: n(640), Finished: n(10), Preempted: n(2), Drafted: n(100), Accepted: n(70),
			Queue: timer(750*ms1, 10), Prefill: timer(2*time.Second, 10), Decode: timer(12*time.Second, 10), TTFT: timer(3*time.Second, 10), Gap: timer(12*time.Second, 630), E2E: timer(15*time.Second, 10),
			Running: n(2), Waiting: n(1), KVPermille: n(500), Process: "started 1700000000.00",
		}},
		"vllm older": {"/metrics", `vllm:prompt_tokens_total 10
vllm:gpu_prefix_cache_queries_total 8
vllm:gpu_prefix_cache_hits_total 4
vllm:time_per_output_token_seconds_sum 1
vllm:time_per_output_token_seconds_count 50
`, func(s *surface) Clocked { return vllm{s} }, Meter{Prompt: n(10), CacheQueries: n(8), CacheHits: n(4), Gap: timer(time.Second, 50)}},
		"sglang, ranks count the same": {"/metrics", `sglang:prompt_tokens_total 500
sglang:cached_tokens_total 200
sglang:generation_tokens_total 90
sglang:num_requests_total 9
# TYPE sglang:queue_time_seconds histogram
sglang:queue_time_seconds_bucket{tp_rank="0",le="+Inf"} 9
sglang:queue_time_seconds_sum{tp_rank="0"} 1.5
sglang:queue_time_seconds_count{tp_rank="0"} 9
sglang:queue_time_seconds_bucket{tp_rank="1",le="+Inf"} 9
sglang:queue_time_seconds_sum{tp_rank="1"} 1.5
sglang:queue_time_seconds_count{tp_rank="1"} 9
# TYPE sglang:per_stage_req_latency_seconds histogram
sglang:per_stage_req_latency_seconds_bucket{stage="prefill_forward",tp_rank="0",le="+Inf"} 9
sglang:per_stage_req_latency_seconds_sum{stage="prefill_forward",tp_rank="0"} 0.75
sglang:per_stage_req_latency_seconds_count{stage="prefill_forward",tp_rank="0"} 9
sglang:per_stage_req_latency_seconds_bucket{stage="other",tp_rank="0",le="+Inf"} 9
sglang:per_stage_req_latency_seconds_sum{stage="other",tp_rank="0"} 5
sglang:per_stage_req_latency_seconds_count{stage="other",tp_rank="0"} 9
sglang:num_running_reqs{tp_rank="0"} 1
sglang:num_running_reqs{tp_rank="1"} 1
`, func(s *surface) Clocked { return sglang{s} }, Meter{
			Prompt: n(500), Computed: n(300), Cached: n(200), Output: n(90), Finished: n(9), Queue: timer(1500*ms1, 9), Prefill: timer(750*ms1, 9), Running: n(1),
		}},
		"llama.cpp": {"/metrics", `llamacpp:prompt_tokens_total 50
llamacpp:prompt_seconds_total 0.5
llamacpp:tokens_predicted_total 9
llamacpp:tokens_predicted_seconds_total 0.25
llamacpp:requests_processing 1
llamacpp:requests_deferred 0
`, func(s *surface) Clocked { return llamacpp{s} }, Meter{
			Computed: n(50), Output: n(9), Prefill: Timer{Sum: gates.SpanOf(500 * ms1)}, Decode: Timer{Sum: gates.SpanOf(250 * ms1)}, Running: n(1), Waiting: n(0),
		}},
		"llama.cpp newer": {"/metrics", `llamacpp:prompt_tokens_total 50
llamacpp:prompt_tokens_cached_total 30
llamacpp:prompt_seconds_total 0.5
llamacpp:tokens_predicted_total 9
llamacpp:tokens_predicted_seconds_total 0.25
llamacpp:spec_decode_num_draft_tokens_total 8
llamacpp:spec_decode_num_accepted_tokens_total 6
`, func(s *surface) Clocked { return llamacpp{s} }, Meter{
			Prompt: n(80), Computed: n(50), Cached: n(30), Output: n(9), Drafted: n(8), Accepted: n(6), Prefill: Timer{Sum: gates.SpanOf(500 * ms1)}, Decode: Timer{Sum: gates.SpanOf(250 * ms1)}, Batched: true,
		}},
		"tensorrt-llm": {"/prometheus/metrics", `trtllm_prompt_tokens_total 50
trtllm_prompt_cached_tokens_total 10
trtllm_request_success_total{finished_reason="stop"} 4
trtllm_time_to_first_token_seconds_sum 0.5
trtllm_time_to_first_token_seconds_count 4
trtllm_kv_cache_utilization 0.125
`, func(s *surface) Clocked { return trtllm{s} }, Meter{Prompt: n(50), Computed: n(40), Cached: n(10), Finished: n(4), TTFT: timer(500*ms1, 4), KVPermille: n(125)}},
		"tensorrt-llm older": {"/prometheus/metrics", "trtllm:e2e_request_latency_seconds_sum 2\ntrtllm:e2e_request_latency_seconds_count 4\n", func(s *surface) Clocked { return trtllm{s} }, Meter{E2E: timer(2*time.Second, 4)}},
		"no numbers":         {"/metrics", "vllm:prompt_tokens_total NaN\nvllm:generation_tokens_total -1\nvllm:num_preemptions_total +Inf\nvllm:request_success_total 1e300\nvllm:request_queue_time_seconds_sum NaN\nvllm:request_prefill_time_seconds_sum -3\nvllm:request_decode_time_seconds_sum 1e12\n", func(s *surface) Clocked { return vllm{s} }, Meter{}},
		"no page of it":      {"/metrics", "<html>", func(s *surface) Clocked { return vllm{s} }, Meter{}},
	} {
		if got, err := c.engine(surfaceOver(t, page(c.path, c.text))).Meter(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, c.want)
		}
	}
}

// The page of a real server, as it was recorded.
func TestMeterOfARealServer(t *testing.T) {
	t.Parallel()
	n := gates.CountOf
	got, err := (llamacpp{surfaceOver(t, page("/metrics", recorded(t, "metrics.txt")))}).Meter(t.Context())
	want := Meter{
		Prompt: n(22903 + 17877), Computed: n(22903), Cached: n(17877), Output: n(9794), Drafted: n(0), Accepted: n(0), Running: n(1), Waiting: n(0), Batched: true,
		Prefill: Timer{Sum: gates.SpanOf(147028 * ms1)}, Decode: Timer{Sum: gates.SpanOf(328448 * ms1)},
	}
	if err != nil || got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
}

func TestNoMeterSaysWhy(t *testing.T) {
	t.Parallel()
	over := func(tr http.RoundTripper, e func(*surface) Engine) Endpoint {
		return Endpoint{&shared{engine: e(surfaceOver(t, tr))}}
	}
	away := roundTrip(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED })
	if _, err := over(page("/elsewhere", ""), func(s *surface) Engine { return llamacpp{s} }).Meter(t.Context()); !errors.Is(err, ErrNoMeter) || !strings.Contains(err.Error(), "404") {
		t.Errorf("no page: %v", err)
	}
	if _, err := over(page("/metrics", "x 1\n"), func(s *surface) Engine { return vllm{s} }).Meter(t.Context()); !errors.Is(err, ErrNoMeter) {
		t.Errorf("another page: %v", err)
	}
	if _, err := over(page("/metrics", "x 1\n"), func(s *surface) Engine { return generic{s} }).Meter(t.Context()); !errors.Is(err, ErrNoMeter) {
		t.Errorf("an unknown engine: %v", err)
	}
	if _, err := over(away, func(s *surface) Engine { return vllm{s} }).Meter(t.Context()); err == nil || errors.Is(err, ErrNoMeter) {
		t.Errorf("a server that is away: %v", err)
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	n := gates.CountOf
	before := Meter{Output: n(100), Prompt: n(10), Queue: timer(time.Second, 5), Decode: Timer{Sum: gates.SpanOf(time.Second)}, Process: "p", Running: n(9)}
	after := Meter{Output: n(164), Cached: n(3), Queue: timer(1500*ms1, 7), Decode: Timer{Sum: gates.SpanOf(2 * time.Second)}, Process: "p", Running: n(1)}
	want := Moved{Meter: Meter{Output: n(64), Queue: timer(500*ms1, 2), Decode: Timer{Sum: gates.SpanOf(time.Second)}, Process: "p", Running: n(1)}}
	if got := before.Until(after); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, c := range map[string]struct {
		change func(*Meter)
		says   string
	}{
		"another process":  {func(m *Meter) { m.Process = "q" }, "it p at first and q in the end"},
		"no start told":    {func(m *Meter) { m.Process = "" }, "did not say"},
		"a counter fell":   {func(m *Meter) { m.Output = n(99) }, "output tokens fell"},
		"a number fell":    {func(m *Meter) { m.Queue.N = n(4) }, "queue times fell"},
		"a sum fell":       {func(m *Meter) { m.Decode.Sum = gates.SpanOf(1) }, "decode times fell"},
		"a hostile marker": {func(m *Meter) { m.Process = "\x1b[31m" }, "\\u{1b}"},
	} {
		a := after
		c.change(&a)
		got := before.Until(a)
		if !strings.Contains(got.Lost, c.says) || got.Meter != (Meter{}) {
			t.Errorf("%s: %q %+v", name, got.Lost, got.Meter)
		}
	}
	batched := after
	batched.Batched, batched.Prefill = true, timer(time.Second, 1)
	if got := before.Until(batched); got.Prefill != (Timer{}) || got.Lost != "" {
		t.Errorf("two definitions of prefill: %+v", got)
	}
}

// What an engine claims of one request is dropped where it is no time.
func TestTimesOfARequest(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]EngineTiming{
		`"metrics":{"time_to_first_token_ms":85.25,"generation_time_ms":1240.5,"queue_time_ms":0,"mean_itl_ms":9.1}`: {Queue: gates.SpanOf(0), Prefill: 85250 * time.Microsecond, Decode: 1240500 * time.Microsecond},
		`"metrics":{"time_to_first_token_ms":-1,"generation_time_ms":1e300,"queue_time_ms":"NaN"}`:                   {},
		`"metrics":null`:  {},
		`"metrics":[1,2]`: {},
		`"timings":{"prompt_ms":-3,"predicted_ms":86400001,"draft_n":8,"draft_n_accepted":6}`: {Drafted: gates.CountOf(8), Accepted: gates.CountOf(6)},
		`"timings":{"prompt_ms":"12","predicted_ms":1e400,"prompt_n":-4,"cache_n":1e30}`:      {},
	} {
		a := sends(t, after(ms, text("a"), finish("stop"), event(`{"choices":[],"usage":{"completion_tokens":1,"prompt_tokens":3,"total_tokens":4},`+said+`}`), done))
		healthy(t, a)
		equal(t, said, a.Timing.Engine, want)
	}
}

// Whatever a page holds, no reading of it is below 0 or too large to be one.
func FuzzMeter(f *testing.F) {
	f.Add("vllm:prompt_tokens_total 5\nvllm:request_queue_time_seconds_sum 0.5\nvllm:request_queue_time_seconds_count 3\n")
	f.Add("# TYPE vllm:e2e_request_latency_seconds histogram\nvllm:e2e_request_latency_seconds_sum NaN\nvllm:e2e_request_latency_seconds_count 3\n")
	f.Add("vllm:kv_cache_usage_perc 1e309\nvllm:num_requests_running -Inf\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := (vllm{surfaceOver(t, page("/metrics", text))}).Meter(t.Context())
		if err != nil {
			return
		}
		for _, c := range m.counts() {
			if n := c.at.Or(0); n < 0 || n > 1e15 {
				t.Errorf("%s: %d", c.name, n)
			}
		}
		for _, s := range m.times() {
			if d := s.at.Or(0); d < 0 || d.Seconds() > longestSum {
				t.Errorf("%s: %v", s.name, d)
			}
		}
		if got := m.Until(m); got.Lost != "" {
			t.Errorf("from itself to itself: %s", got.Lost)
		}
		if math.Abs(float64(m.KVPermille.Or(0))) > 1000 {
			t.Errorf("the cache is in use to %d of 1000", m.KVPermille.Or(0))
		}
		if got := only([]byte(text), []string{"vllm:num_requests_running"}); len(got) > len(text) {
			t.Error("the page has grown")
		}
	})
}
