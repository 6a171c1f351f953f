package endpoint

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"infbench/gates"
)

// scripted is a server made of its pages; "METHOD path" or "path" to the body, which
// may begin with "STATUS ".
type scripted struct {
	mu    sync.Mutex
	pages map[string]string
	asked []string
	sent  map[string]string // the last body sent to a path
}

// RoundTrip serves a page.
func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[string]string{}
	}
	s.asked = append(s.asked, r.URL.Path)
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.sent[r.URL.Path] = string(b)
	}
	body, ok := s.pages[r.URL.Path]
	switch {
	case !ok:
		return jsonReply(404, `{"detail":"Not Found"}`), nil
	case strings.HasPrefix(body, "data:"):
		return streamReply(body), nil
	case len(body) > 4 && body[3] == ' ' && body[0] >= '2' && body[0] <= '5':
		return jsonReply(int(body[0]-'0')*100+int(body[1]-'0')*10+int(body[2]-'0'), body[4:]), nil
	}
	return jsonReply(200, body), nil
}

func (s *scripted) set(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = body
}

func (s *scripted) open(t *testing.T, model string) Endpoint {
	t.Helper()
	ep, err := Open(t.Context(), mustTarget(t, "http://127.0.0.1:1"), Options{Model: model, Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

func modelsOf(owner, more string) string {
	return fmt.Sprintf(`{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":%q%s}]}`, owner, more)
}

const vllmMetrics = `# TYPE python_info gauge
python_info{version="3.12"} 1
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79e+09
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",enable_prefix_caching="%s",engine="0",num_gpu_blocks="1000"} 1.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 0.0
`

func vllmServer() *scripted {
	return &scripted{pages: map[string]string{
		"/v1/models":          modelsOf("vllm", `,"root":"/home/somebody/models/Example-8B","max_model_len":32768`),
		"/version":            `{"version":"0.19.1"}`,
		"/metrics":            fmt.Sprintf(vllmMetrics, "True"),
		"/tokenize":           `{"count":7,"max_model_len":32768,"tokens":[1,2,3,4,5,6,7]}`,
		"/reset_prefix_cache": ``,
	}}
}

func TestVLLM(t *testing.T) {
	s := vllmServer()
	ep := s.open(t, "")
	equal(t, "name", ep.Engine().Name(), "vllm")
	b := ep.Build()
	equal(t, "version", b.Version, "0.19.1")
	equal(t, "checkpoint", b.Checkpoint, "Example-8B")
	equal(t, "context", ep.ContextTokens(0), 32768)
	equal(t, "process", b.Process, "started 1790000000.00")
	equal(t, "prefix cache", ep.Unable(PrefixCache), "")
	if b.Config == "" {
		t.Error("no configuration hash")
	}
	n, err := ep.CountTokens(t.Context(), "Hello")
	if err != nil || n != 7 {
		t.Errorf("counted %d, %v", n, err)
	}
	equal(t, "tokenize", s.sent["/tokenize"], `{"add_special_tokens":false,"model":"m","prompt":"Hello"}`)
	cold, how := ep.Cold(Chat("Hi"), "salt-1")
	equal(t, "cold", gjson.Get(bodyOf(t, cold, true), "cache_salt").Str+" "+how, "salt-1 cache_salt")
	forced := bodyOf(t, ep.Engine().(LengthForcer).ForceLength(Chat("Hi"), 99), true)
	equal(t, "forced", gjson.Get(forced, "[ignore_eos,min_tokens,max_tokens]").Raw, "[true,99,99]")

	off := vllmServer()
	off.set("/metrics", fmt.Sprintf(vllmMetrics, "False"))
	if why := off.open(t, "").Unable(PrefixCache); !strings.Contains(why, "switched off") {
		t.Errorf("prefix caching off: %q", why)
	}
}

// Each thing that may change under a run shows in Changed, and by its name.
func TestChangesOfTheServerAreSeen(t *testing.T) {
	for what, change := range map[string]func(*scripted){
		"the version was 0.19.1 and is 0.20.0": func(s *scripted) { s.set("/version", `{"version":"0.20.0"}`) },
		"the server process was started 1790000000.00 and is started 1790000500.00": func(s *scripted) {
			s.set("/metrics", strings.Replace(fmt.Sprintf(vllmMetrics, "True"), "1.79e+09", "1.7900005e+09", 1))
		},
		"the weights was Example-8B and is Other-8B": func(s *scripted) { s.set("/v1/models", strings.Replace(s.pages["/v1/models"], "Example", "Other", 1)) },
		"the configuration was":                      func(s *scripted) { s.set("/metrics", fmt.Sprintf(vllmMetrics, "False")) },
		"the version was 0.19.1 and is not told":     func(s *scripted) { s.set("/version", `500 {}`) },
	} {
		s := vllmServer()
		ep := s.open(t, "")
		if got, err := ep.Changed(t.Context()); got != "" || err != nil {
			t.Errorf("nothing changed: %q, %v", got, err)
		}
		change(s)
		got, err := ep.Changed(t.Context())
		if err != nil || !strings.HasPrefix(got, what) || strings.Contains(got, ";") {
			t.Errorf("got %q, %v, want %q", got, err, what)
		}
	}
	s := vllmServer()
	ep := s.open(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := tripper(func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() })
	ep.client.http = stopped
	ep.engine.(vllm).s.client.http = stopped
	if got, err := ep.Changed(ctx); err == nil {
		t.Errorf("a question that was not put found %q", got)
	}
}

const secretArgs = `"api_key":"sk-SECRET","admin_api_key":"sk-SECRET2","model_path":"/home/SECRET3/models/Example-8B","tokenizer_path":"/home/SECRET3/tok","host":"SECRET4.example","dtype":"bfloat16","tp_size":2,"context_length":null`

func TestSGLang(t *testing.T) {
	for _, route := range []string{"/get_server_info", "/server_info"} {
		s := &scripted{pages: map[string]string{
			"/v1/models":      modelsOf("sglang", `,"root":"/home/SECRET3/models/Example-8B","max_model_len":8192`),
			route:             `{` + secretArgs + `,"version":"0.5.6","device":"cuda","disable_radix_cache":true,"internal_states":[{}]}`,
			"/get_model_info": `{"model_path":"/home/SECRET3/models/Example-8B","is_generation":true}`,
			"/tokenize":       `{"tokens":[1,2,3],"count":3}`,
			"/flush_cache":    `400 Flush cache failed`,
		}}
		ep := s.open(t, "")
		equal(t, "name", ep.Engine().Name(), "sglang")
		b := ep.Build()
		if printed := fmt.Sprintf("%+v", b); strings.Contains(printed, "SECRET") {
			t.Errorf("%s: the build holds %s", route, printed)
		}
		equal(t, "version", b.Version+" "+b.Device+" "+b.Checkpoint, "0.5.6 cuda Example-8B")
		equal(t, "context", ep.ContextTokens(0), 8192)
		if why := ep.Unable(PrefixCache); !strings.Contains(why, "disable_radix_cache") {
			t.Errorf("%s: radix cache off: %q", route, why)
		}
		if n, err := ep.CountTokens(t.Context(), "Hi"); n != 3 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}
		if err := ep.Engine().(CacheFlusher).FlushCache(t.Context()); err == nil {
			t.Error("a cache that was not flushed is no error")
		}
		if _, how := ep.Cold(Chat("Hi"), "s"); how != "" {
			t.Errorf("cold by %q", how)
		}
		// The key may rotate without being another configuration; the type may not.
		s.set(route, strings.Replace(s.pages[route], "sk-SECRET", "sk-OTHER", 2))
		if got, err := ep.Changed(t.Context()); got != "" || err != nil {
			t.Errorf("another key: %q, %v", got, err)
		}
		s.set(route, strings.Replace(s.pages[route], "bfloat16", "float16", 1))
		if got, _ := ep.Changed(t.Context()); !strings.HasPrefix(got, "the configuration was") {
			t.Errorf("another dtype: %q", got)
		}
	}
}

func TestTensorRTLLM(t *testing.T) {
	s := &scripted{pages: map[string]string{
		"/v1/models":          modelsOf("tensorrt_llm", ""),
		"/version":            `{"version":"1.3.0rc1"}`,
		"/server_info":        `{"max_batch_size":64,"max_seq_len":16384,"backend":"pytorch"}`,
		"/metrics":            `[{"iter":1}]`,
		"/prometheus/metrics": "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1790000000\n# TYPE trtllm_request_success_total counter\ntrtllm_request_success_total 3\n",
	}}
	ep := s.open(t, "")
	equal(t, "name", ep.Engine().Name(), "tensorrt-llm")
	equal(t, "build", ep.Build().Version+" "+ep.Build().Process, "1.3.0rc1 started 1790000000.00")
	equal(t, "context", ep.ContextTokens(0), 16384)
	if _, err := ep.CountTokens(t.Context(), "Hi"); err != ErrNoTokenizer { //nolint:errorlint // the sentinel itself
		t.Errorf("counting: %v", err)
	}
	// /metrics gives its statistics away once: it is asked as rarely as can be.
	n := 0
	for _, p := range s.asked {
		if p == "/metrics" {
			n++
		}
	}
	if n > 1 {
		t.Errorf("/metrics was asked %d times", n)
	}
	s.set("/v1/models", modelsOf("somebody", ""))
	equal(t, "by its metrics", s.open(t, "").Engine().Name(), "tensorrt-llm")
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/llamacpp/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func llamaServer(t *testing.T) *scripted {
	return &scripted{pages: map[string]string{
		"/v1/models": recorded(t, "models.json"), "/props": recorded(t, "props.json"), "/metrics": recorded(t, "metrics.txt"),
		"/tokenize": recorded(t, "tokenize.json"), chatPath: recorded(t, "stream.sse"),
	}}
}

// What a real server sent.
func TestLlamaCpp(t *testing.T) {
	s := llamaServer(t)
	ep := s.open(t, "")
	equal(t, "name", ep.Engine().Name(), "llama.cpp")
	equal(t, "model", ep.Model(), "smollm2-135m")
	b := ep.Build()
	equal(t, "build", b.Version+" "+b.Checkpoint, "b0-unknown smollm2-135m-instruct-q4_1.gguf")
	equal(t, "context", ep.ContextTokens(0), 4096)
	equal(t, "slots", b.Slots, gates.CountOf(4))
	if !strings.HasPrefix(b.Process, "marker ") || b.Config == "" {
		t.Errorf("process %q, configuration %q", b.Process, b.Config)
	}
	if why := ep.Unable(Tools); !strings.Contains(why, "chat template knows no tools") {
		t.Errorf("tools: %q", why)
	}
	equal(t, "prefix cache", ep.Unable(PrefixCache), "")
	if n, err := ep.CountTokens(t.Context(), "Hello there, world."); n != 5 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	equal(t, "tokenize", s.sent["/tokenize"], `{"add_special":false,"content":"Hello there, world."}`)
	cold, how := ep.Cold(Chat("Hi"), "salt")
	equal(t, "cold", gjson.Get(bodyOf(t, cold, true), "cache_prompt").Raw+" "+how, "false cache_prompt: false")
	forced := bodyOf(t, ep.Engine().(LengthForcer).ForceLength(Chat("Hi"), 99), true)
	equal(t, "forced", gjson.Get(forced, "[ignore_eos,max_tokens]").Raw, "[true,99]")

	a := ep.Stream(t.Context(), Chat("Say hello."))
	healthy(t, a)
	equal(t, "finish", a.Finish, "length")
	equal(t, "usage", a.Usage, Usage{Prompt: gates.CountOf(33), Completion: gates.CountOf(12), Total: gates.CountOf(45), Cached: gates.CountOf(24)})
	if n := len(a.Timing.Marks); n < 10 || n > 12 || !strings.HasPrefix(a.Content, "Hello") || a.Timing.Engine.Decode == 0 {
		t.Errorf("%d marks, %q, %+v", n, a.Content, a.Timing.Engine)
	}

	s.set("/props", strings.Replace(s.pages["/props"], "<__media_", "<__media_x", 1))
	if got, err := ep.Changed(t.Context()); err != nil || !strings.HasPrefix(got, "the server process was marker") {
		t.Errorf("a restart: %q, %v", got, err)
	}
	s.set("/props", strings.Replace(recorded(t, "props.json"), `"n_ctx":4096`, `"n_ctx":2048`, 1))
	if got, err := ep.Changed(t.Context()); err != nil || !strings.HasPrefix(got, "the configuration was") {
		t.Errorf("another context: %q, %v", got, err)
	}
	// The list's time of creation is the time of asking.
	s = llamaServer(t)
	ep = s.open(t, "")
	s.set("/v1/models", strings.Replace(s.pages["/v1/models"], `"created":1`, `"created":2`, 1))
	if got, err := ep.Changed(t.Context()); got != "" || err != nil {
		t.Errorf("the time of asking: %q, %v", got, err)
	}
}

func TestLlamaCppIsKnownByEachOfItsSigns(t *testing.T) {
	for sign, hide := range map[string][]string{"owner": {"/props", "/metrics"}, "metrics": {"/props", "owner"}, "props": {"/metrics", "owner"}} {
		s := llamaServer(t)
		for _, h := range hide {
			if h == "owner" {
				s.set("/v1/models", strings.Replace(s.pages["/v1/models"], `"llamacpp"`, `"somebody"`, 1))
				continue
			}
			delete(s.pages, h)
		}
		equal(t, sign, s.open(t, "").Engine().Name(), "llama.cpp")
	}
}

func TestEnginesAreKnownByPresence(t *testing.T) {
	for name, c := range map[string]struct {
		pages map[string]string
		want  string
	}{
		"vllm by metrics":        {map[string]string{"/metrics": fmt.Sprintf(vllmMetrics, "True")}, "vllm"},
		"vllm, a fork's owner":   {map[string]string{"/v1/models": modelsOf("plugin", ""), "/metrics": "vllm:num_requests_running 0\n"}, "vllm"},
		"metrics that break off": {map[string]string{"/metrics": "vllm:num_requests_running 0\n# TYPE broken\nx{ 1\n"}, "vllm"},
		"sglang by metrics":      {map[string]string{"/metrics": "sglang:num_running_reqs 0\n"}, "sglang"},
		"sglang by its info":     {map[string]string{"/get_server_info": `{"version":"1"}`, "/get_model_info": `{"model_path":"a"}`}, "sglang"},
		"sglang, newer":          {map[string]string{"/server_info": `{"version":"1"}`, "/get_model_info": `{"model_path":"a"}`}, "sglang"},
		"a version alone":        {map[string]string{"/version": `{"version":"0.19"}`, "/get_server_info": `{"version":"1"}`}, "generic"},
		"nothing":                {nil, "generic"},
		"HTML everywhere":        {map[string]string{"/metrics": "<html>vllm:x sglang:y</html>", "/props": "<html>", "/version": "<html>"}, "generic"},
		"JSON metrics":           {map[string]string{"/metrics": `[{"iter":1}]`}, "generic"},
		"nested without end":     {map[string]string{"/props": strings.Repeat("[", 100_000), "/version": strings.Repeat(`{"version":`, 100_000)}, "generic"},
		"the embedded engine":    {map[string]string{"/v1/models": modelsOf("infbench", `,"max_model_len":100`), "/version": `{"version":"1","device":"none (clock model)","image":"sha256:12"}`, "/metrics": fmt.Sprintf(vllmMetrics, "True")}, "infbench-reference"},
	} {
		s := &scripted{pages: map[string]string{"/v1/models": modelsOf("somebody", "")}}
		maps.Copy(s.pages, c.pages)
		ep := s.open(t, "")
		equal(t, name, ep.Engine().Name(), c.want)
		if c.want == "infbench-reference" {
			equal(t, "device and image", ep.Build().Device+" "+ep.Build().Image, "none (clock model) sha256:12")
			if ep.Unable(Kernels) == "" || ep.Unable(PrefixCache) != "" {
				t.Error("what the embedded engine is able to")
			}
		}
	}
	equal(t, "all", strings.Join(Engines(), " "), "infbench-reference llama.cpp sglang vllm tensorrt-llm generic")
}

func TestGeneric(t *testing.T) {
	s := &scripted{pages: map[string]string{"/v1/models": modelsOf("somebody", `,"max_model_len":100`), "/version": `{"version":"1\u001b[31m` + strings.Repeat("x", 400) + `"}`}}
	ep := s.open(t, "")
	if v := ep.Build().Version; strings.Contains(v, "\x1b") || len(v) > 200 {
		t.Errorf("version %q", v)
	}
	if ep.Unable(ForcedLong) == "" || ep.Unable(Tools) != "" {
		t.Error("what a generic server is able to")
	}
	if _, err := ep.CountTokens(t.Context(), "Hi"); err != ErrNoTokenizer { //nolint:errorlint // the sentinel itself
		t.Errorf("counting: %v", err)
	}
	s.set("/v1/models", modelsOf("somebody", `,"max_model_len":200`))
	if got, _ := ep.Changed(t.Context()); !strings.HasPrefix(got, "the configuration was") {
		t.Errorf("another length: %q", got)
	}
	ep.FoundUnable(Tools, "said so")
	equal(t, "found out", ep.Unable(Tools), "said so")
	equal(t, "the zero endpoint", Endpoint{}.Unable(Tools), "the endpoint was not opened")
}

// What a server says of another kind than expected is not told, and no crash.
func TestTokenizersThatAnswerStrangely(t *testing.T) {
	for _, answer := range []string{`{}`, `{"count":-1}`, `{"count":"7"}`, `{"tokens":"abc"}`, `[]`, `null`, `<html>`, `{"count":1e300}`} {
		s := vllmServer()
		s.set("/tokenize", answer)
		if n, err := s.open(t, "").CountTokens(t.Context(), "Hi"); err == nil {
			t.Errorf("%s: counted %d", answer, n)
		}
	}
	s := vllmServer()
	s.set("/tokenize", `{"tokens":[1,2]}`)
	if n, err := s.open(t, "").CountTokens(t.Context(), "Hi"); n != 2 || err != nil {
		t.Errorf("without a count: %d, %v", n, err)
	}
}

func TestTheAskedModelIsTheOneDescribed(t *testing.T) {
	s := &scripted{pages: map[string]string{"/v1/models": `{"object":"list","data":[{"id":"a","owned_by":"vllm","max_model_len":10},{"id":"b","owned_by":"vllm","max_model_len":20}]}`}}
	equal(t, "the first", s.open(t, "").ContextTokens(0), 10)
	equal(t, "the named", s.open(t, "b").ContextTokens(0), 20)
}
