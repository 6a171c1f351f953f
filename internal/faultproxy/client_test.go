package faultproxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"infbench/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An answer is what a client makes of a response, streamed or not.
type answer struct {
	status   int
	header   http.Header
	raw      string
	broken   error // reading ended otherwise than by EOF
	data     []gjson.Result
	badJSON  int
	comments int
	done     int

	text, reasoning string
	renamed         string   // reasoning under its other name
	pieces          []string // of text, by event
	calls           map[int]*call
	finish          []string
	usage           gjson.Result
	ids             map[string]bool
	tokens          []string // of the logprobs
	logprobs        []float64
}

type call struct{ id, name, args string }

func proxy(t *testing.T, up http.Handler, specs ...string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.ForHandler(up, specs, 7)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve puts a handler on a port, for a connection that can really break.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func post(ctx context.Context, t *testing.T, url, path, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	// One connection per request: nothing is left for the leak check.
	r.Close = true
	return http.DefaultClient.Do(r)
}

func fetch(t *testing.T, url, path, body string) answer {
	t.Helper()
	res, err := post(t.Context(), t, url, path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return read(res.StatusCode, res.Header, string(raw), err)
}

func chat(t *testing.T, url, prompt string, stream bool, more string) answer {
	t.Helper()
	return fetch(t, url, "/v1/chat/completions", chatBody(prompt, stream, more))
}

func chatBody(prompt string, stream bool, more string) string {
	body := `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":` + quote(prompt) + `}]`
	if stream {
		body += `,"stream":true,"stream_options":{"include_usage":true}`
	}
	return body + more + "}"
}

func read(status int, header http.Header, raw string, broken error) answer {
	a := answer{status: status, header: header, raw: raw, broken: broken, calls: map[int]*call{}, ids: map[string]bool{}}
	if !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		a.add(gjson.Parse(raw), "message")
		return a
	}
	for line := range strings.SplitSeq(raw, "\n") {
		switch data, ok := strings.CutPrefix(line, "data: "); {
		case strings.HasPrefix(line, ":"):
			a.comments++
		case !ok:
		case data == "[DONE]":
			a.done++
		case !gjson.Valid(data):
			a.badJSON++
		default:
			a.data = append(a.data, gjson.Parse(data))
			a.add(gjson.Parse(data), "delta")
		}
	}
	return a
}

func (a *answer) add(doc gjson.Result, box string) {
	a.ids[doc.Get("id").Str] = true
	if u := doc.Get("usage"); u.IsObject() {
		a.usage = u
	}
	for _, c := range doc.Get("choices").Array() {
		m := c.Get(box)
		text := m.Get("content").Str + c.Get("text").Str
		a.text += text
		if text != "" {
			a.pieces = append(a.pieces, text)
		}
		a.reasoning += m.Get("reasoning_content").Str
		a.renamed += m.Get("reasoning").Str
		if f := c.Get("finish_reason"); f.Str != "" {
			a.finish = append(a.finish, f.Str)
		}
		for i, tc := range m.Get("tool_calls").Array() {
			if x := tc.Get("index"); x.Exists() {
				i = int(x.Int())
			}
			if a.calls[i] == nil {
				a.calls[i] = &call{}
			}
			a.calls[i].id += tc.Get("id").Str
			a.calls[i].name += tc.Get("function.name").Str
			a.calls[i].args += tc.Get("function.arguments").Str
		}
		for _, e := range c.Get("logprobs.content").Array() {
			a.tokens = append(a.tokens, e.Get("token").Str)
			a.logprobs = append(a.logprobs, e.Get("logprob").Num)
		}
	}
}
