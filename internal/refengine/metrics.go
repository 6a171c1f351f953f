package refengine

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// A page is a metrics page in Prometheus' text format 0.0.4.
type page struct {
	b      strings.Builder
	labels string // of every vllm metric
}

func (p *page) head(name, kind, help string) {
	fmt.Fprintf(&p.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) sample(name, extra string, v float64) {
	fmt.Fprintf(&p.b, "%s{%s%s} %s\n", name, p.labels, extra, strconv.FormatFloat(v, 'g', -1, 64))
}

func (p *page) gauge(name, help string, v float64) {
	p.head(name, "gauge", help)
	p.sample(name, "", v)
}

func (p *page) counter(name, help string, v int) {
	p.head(name, "counter", help)
	p.sample(name+"_total", "", float64(v))
}

func (p *page) histogram(name, help string, h *histogram) {
	p.head(name, "histogram", help)
	sum := 0
	for i, n := range h.counts {
		sum += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
		}
		p.sample(name+"_bucket", `,le="`+bound+`"`, float64(sum))
	}
	p.sample(name+"_count", "", float64(sum))
	p.sample(name+"_sum", "", h.sum)
}

func (e *Engine) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	p := &page{labels: `model_name="` + escapeLabel(e.config.Model) + `",engine="0"`}
	e.scheduled(p)
	e.counted(p)
	p.head("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.")
	fmt.Fprintf(&p.b, "process_start_time_seconds %.3f\n", float64(e.epoch.UnixNano())/1e9)
	_, _ = w.Write([]byte(p.b.String())) // a scraper that left needs no page
}

// scheduled tells the state of the batch and the cache.
func (e *Engine) scheduled(p *page) {
	e.mu.Lock()
	load, totals := e.sched.Load(), e.sched.Totals()
	e.mu.Unlock()
	p.gauge("vllm:num_requests_running", "Number of requests in model execution batches.", float64(load.Running))
	p.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", float64(load.Waiting))
	p.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", float64(load.BlocksHeld)/float64(load.Blocks))
	p.counter("vllm:prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", totals.Queries)
	p.counter("vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", totals.Hits)
	p.counter("vllm:num_preemptions", "Cumulative number of preemption from the engine.", totals.Preemptions)
	p.head("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
	prefix := "True"
	if e.config.NoPrefixCache {
		prefix = "False"
	}
	fmt.Fprintf(&p.b, "vllm:cache_config_info{block_size=\"%d\",enable_prefix_caching=\"%s\",engine=\"0\",num_gpu_blocks=\"%d\"} 1\n",
		e.config.BlockSize, prefix, e.config.KVBlocks)
}

// counted tells what the requests did.
func (e *Engine) counted(p *page) {
	m := e.meters
	m.mu.Lock()
	defer m.mu.Unlock()
	p.counter("vllm:prompt_tokens", "Number of prefill tokens processed.", m.prompt)
	const bySource = "vllm:prompt_tokens_by_source"
	p.head(bySource, "counter", "Number of prompt tokens by source.")
	p.sample(bySource+"_total", `,source="local_compute"`, float64(m.prompt-m.cached))
	p.sample(bySource+"_total", `,source="local_cache_hit"`, float64(m.cached))
	p.sample(bySource+"_total", `,source="external_kv_transfer"`, 0)
	p.counter("vllm:prompt_tokens_cached", "Number of cached prompt tokens (local + external).", m.cached)
	p.counter("vllm:generation_tokens", "Number of generation tokens processed.", m.generated)
	const success = "vllm:request_success"
	p.head(success, "counter", "Count of successfully processed requests.")
	for _, reason := range []string{"stop", "length", "abort"} {
		p.sample(success+"_total", `,finished_reason="`+reason+`"`, float64(m.finishes[reason]))
	}
	p.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", &m.ttft)
	p.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &m.itl)
	p.histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &m.e2e)
	p.histogram("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &m.queue)
	p.histogram("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", &m.prefill)
	p.histogram("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", &m.decode)
	p.histogram("vllm:request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", &m.inference)
	p.histogram("vllm:request_time_per_output_token_seconds", "Histogram of time per output token per request.", &m.tpot)
	p.histogram("vllm:request_prompt_tokens", "Number of prefill tokens processed.", &m.lengths.prompt)
	p.histogram("vllm:request_generation_tokens", "Number of generation tokens processed.", &m.lengths.generated)
	p.histogram("vllm:request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", &m.lengths.computed)
}

func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
