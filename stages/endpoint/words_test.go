package endpoint

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What each engine says of itself is taken from its own pages, and nothing beside it.
func TestWords(t *testing.T) {
	for name, c := range map[string]struct {
		pages map[string]string
		want  string
	}{
		"vllm": {
			map[string]string{"/v1/models": modelsOf("vllm", ""), "/metrics": fmt.Sprintf(vllmMetrics, "True") + "# TYPE vllm:corrupted_requests counter\nvllm:corrupted_requests_total{engine=\"0\"} 2\nvllm:corrupted_requests_total{engine=\"1\"} 1\n"},
			"[{block 16} {blocks 1000} {prefix cache True}] false 3",
		},
		"vllm without metrics": {map[string]string{"/v1/models": modelsOf("vllm", ""), "/metrics": "404 {}"}, "[] false -1"},
		"sglang": {
			map[string]string{"/v1/models": modelsOf("sglang", ""), "/get_server_info": `{"attention_backend":"fa3","kv_cache_dtype":"auto","quantization":null,"disable_cuda_graph":true,"chunked_prefill_size":8192,"api_key":"SECRET"}`},
			"[{attention fa3} {KV cache auto} {chunk 8192}] true -1",
		},
		"tensorrt-llm": {
			map[string]string{"/v1/models": modelsOf("tensorrt_llm", ""), "/server_info": `{"backend":"pytorch","max_batch_size":64,"kv_cache_config":{"dtype":"fp8"}}`},
			"[{backend pytorch} {KV cache fp8} {largest batch 64}] false -1",
		},
		"llama.cpp": {map[string]string{"/v1/models": modelsOf("llamacpp", ""), "/props": `{"build_info":"b1-` + strings.Repeat("x", 100) + `\u001b[2J","model_path":"/home/SECRET"}`}, "[{build b1-"},
		"generic":   {map[string]string{"/v1/models": modelsOf("somebody", "")}, "[] false -1"},
	} {
		w, err := (&scripted{pages: c.pages}).open(t, "").Words(t.Context())
		got := fmt.Sprint(w.Said, w.GraphsOff, w.NaN.Or(-1))
		if err != nil || !strings.HasPrefix(got, c.want) || strings.Contains(got, "SECRET") || strings.Contains(got, "\x1b") {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// The first text of a stream is told once, and a stream without any tells nothing.
func TestSpeaks(t *testing.T) {
	for want, events := range map[int][]string{
		1: {text(""), text("a"), text("b"), finish("stop"), done},
		0: {finish("stop"), done},
	} {
		ep := opened(t, Options{}, func(string) *http.Response { return streamReply(events...) })
		told := 0
		ep.Stream(t.Context(), Chat("?").Speaks(func() { told++ }))
		equal(t, "told", told, want)
	}
}
