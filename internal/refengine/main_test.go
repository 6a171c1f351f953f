package refengine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"infbench/internal/refengine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine starts an engine that ends with the test.
func engine(t testing.TB, c refengine.Config) *refengine.Engine {
	t.Helper()
	e, err := refengine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// fast is an engine whose steps cost next to nothing, for tests of content.
func fast(t testing.TB) *refengine.Engine {
	t.Helper()
	c := refengine.Config{}
	c.Cost.Base = 1000
	return engine(t, c)
}

func post(ctx context.Context, e http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)))
	return w
}

func get(t testing.TB, e http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

const chat = "/v1/chat/completions"

// body makes a chat request out of one user message and further fields.
func body(prompt, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"model":"infbench-reference","messages":[{"role":"user","content":%q}]%s}`, prompt, more)
}

// An answer is what a response says, streamed or not.
type answer struct {
	status             int
	text, thought      string
	calls              []string
	ids                []string
	finish, stopReason string
	usage              gjson.Result
	tokens             []int64
	chunks             int
	logprobs           []gjson.Result
	promptIDs          int
	roleFirst, sawDone bool
	usageAlone         bool
}

func plain(t testing.TB, w *httptest.ResponseRecorder) answer {
	t.Helper()
	if !gjson.Valid(w.Body.String()) {
		t.Fatalf("status %d, not JSON: %s", w.Code, w.Body)
	}
	r := gjson.Parse(w.Body.String())
	m := r.Get("choices.0.message")
	a := answer{status: w.Code, text: m.Get("content").Str, thought: m.Get("reasoning").Str, usage: r.Get("usage")}
	a.finish, a.stopReason = r.Get("choices.0.finish_reason").Str, r.Get("choices.0.stop_reason").Str
	for _, c := range m.Get("tool_calls").Array() {
		a.calls = append(a.calls, c.Get("function.name").Str+c.Get("function.arguments").Str)
		a.ids = append(a.ids, c.Get("id").Str)
	}
	a.logprobs = r.Get("choices.0.logprobs.content").Array()
	for _, id := range r.Get("choices.0.token_ids").Array() {
		a.tokens = append(a.tokens, id.Int())
	}
	return a
}

func streamed(t testing.TB, w *httptest.ResponseRecorder) answer {
	t.Helper()
	a := answer{status: w.Code}
	for i, event := range strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		switch {
		case !ok || a.sawDone:
			t.Fatalf("event %d: %q", i, event)
		case data == "[DONE]":
			a.sawDone = true
			continue
		case !gjson.Valid(data):
			t.Fatalf("event %d is not JSON: %q", i, data)
		}
		r := gjson.Parse(data)
		if i == 0 {
			a.roleFirst = r.Get("choices.0.delta.role").Str == "assistant" && r.Get("choices.0.delta.content").Raw == `""`
			a.promptIDs = len(r.Get("prompt_token_ids").Array())
		}
		if r.Get("usage").Exists() {
			a.usage = r.Get("usage")
			a.usageAlone = r.Get("choices.#").Int() == 0
		}
		a.chunk(r.Get("choices.0"))
	}
	return a
}

func (a *answer) chunk(c gjson.Result) {
	d := c.Get("delta")
	a.text += d.Get("content").Str
	a.thought += d.Get("reasoning").Str
	if d.Get("content").Str != "" {
		a.chunks++
	}
	for _, call := range d.Get("tool_calls").Array() {
		if call.Get("id").Exists() {
			a.calls = append(a.calls, call.Get("function.name").Str)
			a.ids = append(a.ids, call.Get("id").Str)
		}
		a.calls[call.Get("index").Int()] += call.Get("function.arguments").Str
	}
	if f := c.Get("finish_reason"); f.Type == gjson.String {
		a.finish, a.stopReason = f.Str, c.Get("stop_reason").Str
	}
	a.logprobs = append(a.logprobs, c.Get("logprobs.content").Array()...)
	for _, id := range c.Get("token_ids").Array() {
		a.tokens = append(a.tokens, id.Int())
	}
}
