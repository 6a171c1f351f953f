package endpoint

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"
)

// opened returns an endpoint over a scripted server: models lists one model, and chat
// answers the requests to the model.
func opened(t *testing.T, o Options, chat func(body string) *http.Response) Endpoint {
	t.Helper()
	o.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		switch r.URL.Path {
		case "/v1/models":
			return jsonReply(200, `{"object":"list","data":[{"id":"m","max_model_len":4096}]}`), nil
		case chatPath:
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			return chat(string(b)), nil
		}
		return jsonReply(404, `{"detail":"Not Found"}`), nil
	})
	ep, err := Open(t.Context(), mustTarget(t, "http://127.0.0.1:1"), o)
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

func streamReply(events ...string) *http.Response {
	return eventStream(io.NopCloser(strings.NewReader(strings.Join(events, ""))))
}

func bodyOf(t *testing.T, r Request, stream bool) string {
	t.Helper()
	b, err := r.body("m", stream, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSamplingIsAlwaysExplicit(t *testing.T) {
	equal(t, "the smallest stream", bodyOf(t, Chat("Hi"), true),
		`{"max_tokens":2048,"messages":[{"role":"user","content":"Hi"}],"model":"m","seed":1,"stream":true,"stream_options":{"include_usage":true},"temperature":0,"top_p":1}`)
	equal(t, "the smallest plain one", bodyOf(t, Chat("Hi"), false),
		`{"max_tokens":2048,"messages":[{"role":"user","content":"Hi"}],"model":"m","seed":1,"stream":false,"temperature":0,"top_p":1}`)
	body := bodyOf(t, Conversation().System("S").User("U").Assistant("A").MaxTokens(7).Temperature(0.5).Seed(9).Stop("x", "y").Logprobs(3).PerChunkUsage(), true)
	for path, want := range map[string]string{
		"temperature": "0.5", "seed": "9", "max_tokens": "7", "stop": `["x","y"]`, "logprobs": "true", "top_logprobs": "3",
		"stream_options": `{"continuous_usage_stats":true,"include_usage":true}`, "messages.#.role": `["system","user","assistant"]`,
	} {
		equal(t, path, gjson.Get(body, path).Raw, want)
	}
	if gjson.Get(bodyOf(t, Chat("Hi").PerChunkUsage(), false), "stream_options").Exists() {
		t.Error("a plain request has stream_options")
	}
}

func TestTheOrderOfASchemasKeysIsKept(t *testing.T) {
	schema := `{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"integer"},"mid":{"enum":["b","a"]}},"required":["zeta","alpha"]}`
	body := bodyOf(t, Chat("Hi").Tool("f", "does f", json.RawMessage(schema)).Choose("required"), true)
	equal(t, "schema", gjson.Get(body, "tools.0.function.parameters").Raw, schema)
	equal(t, "tool_choice", gjson.Get(body, "tool_choice").Str, "required")
	if gjson.Get(bodyOf(t, Chat("Hi").Choose("required"), true), "tool_choice").Exists() {
		t.Error("tool_choice without tools")
	}
	called := bodyOf(t, Chat("Hi").Called(ToolCall{"id1", "f", `{"zeta":"x"}`}, "done"), true)
	equal(t, "the call", gjson.Get(called, "messages.1.tool_calls.0.function.arguments").Str, `{"zeta":"x"}`)
	equal(t, "the result", gjson.Get(called, "messages.2.tool_call_id").Str+gjson.Get(called, "messages.2.content").Str, "id1done")
}

// A request is a value: what is made from it does not change it.
func TestARequestIsAValue(t *testing.T) {
	base := Chat("Hi").System("S")
	before := bodyOf(t, base, true)
	a, b := base.User("a").field("x", 1), base.User("b").field("y", 2)
	c := a.field("z", 3)
	equal(t, "the base", bodyOf(t, base, true), before)
	equal(t, "a", a.Text(), "Hi\nS\na\n")
	equal(t, "b", b.Text(), "Hi\nS\nb\n")
	if gjson.Get(bodyOf(t, a, true), "z").Exists() || !gjson.Get(bodyOf(t, c, true), "x").Exists() {
		t.Error("the fields of one request show in another")
	}
	equal(t, "empty", Conversation().Text(), "")
}

func TestARefusedFieldIsLeftOutFromThenOn(t *testing.T) {
	good := func() *http.Response { return streamReply(text("ok"), finish("stop"), done) }
	for name, c := range map[string]struct {
		status  int
		message func(field string) string
		refuses []string
	}{
		"an error object": {400, func(f string) string {
			return `{"error":{"message":"Unrecognized request argument supplied: ` + f + `"}}`
		}, []string{"seed"}},
		"a validator's list": {422, func(f string) string {
			return `{"detail":[{"type":"extra_forbidden","loc":["body","` + f + `"],"msg":"Extra inputs are not permitted"}]}`
		}, []string{"seed"}},
		"two fields in turn":     {400, func(f string) string { return `{"message":"unknown field '` + f + `'"}` }, []string{"seed", "top_p"}},
		"all of them":            {400, func(f string) string { return `{"message":"unknown field '` + f + `'"}` }, []string{"seed", "top_p", "stream_options"}},
		"one inside the options": {400, func(f string) string { return `{"message":"stream_options.` + f + ` is not known"}` }, []string{"continuous_usage_stats"}},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			ep := opened(t, Options{}, func(body string) *http.Response {
				requests.Add(1)
				for _, f := range c.refuses {
					if strings.Contains(body, `"`+f+`"`) {
						return jsonReply(c.status, c.message(f))
					}
				}
				return good()
			})
			r := Chat("Hi").PerChunkUsage()
			if a := ep.Stream(t.Context(), r); a.Failure != nil {
				t.Fatal(a.Failure)
			}
			equal(t, "requests", requests.Load(), int64(1+len(c.refuses)))
			equal(t, "requests told", ep.Requests(), int64(1+len(c.refuses)))
			equal(t, "refused", strings.Join(ep.Refused(), " "), strings.Join(c.refuses, " "))
			if a := ep.Stream(t.Context(), r); a.Failure != nil {
				t.Fatal(a.Failure)
			}
			equal(t, "requests after the second", requests.Load(), int64(2+len(c.refuses)))
		})
	}
}

// Requests in flight together all carry the field, and all are asked again.
func TestARefusalThatManyMeetAtOnce(t *testing.T) {
	const n = 8
	var first sync.WaitGroup
	first.Add(n)
	ep := opened(t, Options{}, func(body string) *http.Response {
		if strings.Contains(body, `"seed"`) {
			first.Done()
			first.Wait()
			return jsonReply(400, `{"error":{"message":"seed is not supported"}}`)
		}
		return streamReply(text("ok"), finish("stop"), done)
	})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if a := ep.Stream(t.Context(), Chat("Hi")); a.Failure != nil {
				t.Error(a.Failure)
			}
		})
	}
	wg.Wait()
}

func TestNothingElseIsRetried(t *testing.T) {
	for name, reply := range map[string]func() *http.Response{
		"400 that names nothing":        func() *http.Response { return jsonReply(400, `{"error":{"message":"bad request"}}`) },
		"400 that holds a field's name": func() *http.Response { return jsonReply(400, `{"error":{"message":"unseeded top_prob"}}`) },
		"400 about the tokens":          func() *http.Response { return jsonReply(400, `{"error":{"message":"max_tokens is too large"}}`) },
		"500 that names seed":           func() *http.Response { return jsonReply(500, `{"error":{"message":"seed"}}`) },
		"429":                           func() *http.Response { return jsonReply(429, `{}`) },
		"a broken stream":               func() *http.Response { return streamReply(text("x")) },
		"an error in the stream":        func() *http.Response { return streamReply(event(`{"error":{"message":"seed"}}`)) },
		"a wrong answer":                func() *http.Response { return streamReply(text("x"), finish("stop"), done) },
	} {
		for _, stream := range []bool{true, false} {
			n := 0
			ep := opened(t, Options{}, func(string) *http.Response { n++; return reply() })
			send := ep.Complete
			if stream {
				send = ep.Stream
			}
			send(t.Context(), Chat("Hi"))
			if n != 1 || len(ep.Refused()) != 0 {
				t.Errorf("%s: %d requests, refused %q", name, n, ep.Refused())
			}
		}
	}
	// A server that goes on naming a field that is gone is not asked for ever.
	n := 0
	ep := opened(t, Options{}, func(string) *http.Response { n++; return jsonReply(400, `{"message":"seed top_p stream_options"}`) })
	ep.Complete(t.Context(), Chat("Hi"))
	equal(t, "requests", n, 3)
}

func TestAPreparedRequestIsSentAsItIs(t *testing.T) {
	var bodies []string
	ep := opened(t, Options{}, func(body string) *http.Response {
		bodies = append(bodies, body)
		return jsonReply(400, `{"message":"seed"}`)
	})
	p, err := ep.Prepare(Chat("Hi").MaxTokens(-5), true)
	if err != nil {
		t.Fatal(err)
	}
	if a := ep.Send(t.Context(), p); a.Failure == nil || len(bodies) != 1 {
		t.Errorf("%v after %d requests", a.Failure, len(bodies))
	}
	if _, err := ep.Prepare(Chat("Hi").Tool("f", "", json.RawMessage("{")), true); err == nil {
		t.Error("a schema that is no JSON makes a request")
	}
}
