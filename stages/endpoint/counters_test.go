package endpoint

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"infbench/gates"
)

// page serves one text at one path.
func page(path, text string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		status := http.StatusNotFound
		if r.URL.Path == path {
			status = http.StatusOK
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func surfaceOver(t *testing.T, tr http.RoundTripper) *surface {
	t.Helper()
	target, err := ParseTarget("http://127.0.0.1:1", TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &surface{client: &client{target: target, http: tr, limits: DefaultLimits()}, seen: map[string]*reply{}}
}

// The trap table: which engines' prompt counters include cached tokens.
func TestCountersKnowWhatTheyInclude(t *testing.T) {
	t.Parallel()
	n, none := gates.CountOf, gates.Count{}
	for name, c := range map[string]struct {
		path, text string
		engine     func(*surface) Metered
		want       Counters
	}{
		"vllm by source": {"/metrics", `vllm:prompt_tokens_total{model_name="m",engine="0"} 1000
vllm:prompt_tokens_by_source_total{source="local_compute",engine="0"} 60
vllm:prompt_tokens_by_source_total{source="local_compute",engine="1"} 40
vllm:prompt_tokens_by_source_total{source="local_cache_hit",engine="0"} 900
vllm:generation_tokens_total{engine="0"} 5
vllm:generation_tokens_total{engine="1"} 6
vllm:num_requests_running{engine="0"} 2
vllm:num_requests_waiting{engine="0"} 3
`, func(s *surface) Metered { return vllm{s} }, Counters{n(100), n(900), n(11), n(2), n(3)}},
		"vllm older": {
			"/metrics", "vllm:prompt_tokens_total 1000\nvllm:prompt_tokens_cached_total 400\nvllm:generation_tokens_total 7\n",
			func(s *surface) Metered { return vllm{s} },
			Counters{n(600), n(400), n(7), none, none},
		},
		"vllm without cached tokens": {"/metrics", "vllm:prompt_tokens_total 1000\n", func(s *surface) Metered { return vllm{s} }, Counters{}},
		"sglang": {
			"/metrics", "sglang:prompt_tokens_total 50\nsglang:cached_tokens_total 20\nsglang:generation_tokens_total 9\nsglang:num_running_reqs 1\nsglang:num_queue_reqs 0\n",
			func(s *surface) Metered { return sglang{s} },
			Counters{n(30), n(20), n(9), n(1), n(0)},
		},
		"llama.cpp": {
			"/metrics", "llamacpp:prompt_tokens_total 50\nllamacpp:tokens_predicted_total 9\nllamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n",
			func(s *surface) Metered { return llamacpp{s} },
			Counters{n(50), none, n(9), n(1), n(0)},
		},
		"tensorrt-llm": {
			"/prometheus/metrics", "trtllm_prompt_tokens_total 50\ntrtllm_prompt_cached_tokens_total 10\ntrtllm_generation_tokens_total 4\n",
			func(s *surface) Metered { return trtllm{s} },
			Counters{n(40), n(10), n(4), none, none},
		},
	} {
		got, err := c.engine(surfaceOver(t, page(c.path, c.text))).Counters(context.Background())
		if err != nil || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestNoMetricsIsAnErrorAndNotZero(t *testing.T) {
	t.Parallel()
	if c, err := (llamacpp{surfaceOver(t, page("/elsewhere", ""))}).Counters(context.Background()); err == nil || c != (Counters{}) {
		t.Errorf("%+v %v", c, err)
	}
}
