package faultproxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"infbench/internal/faultproxy"
)

// strict is a server that knows one model.
var strict = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/models") {
		_, _ = io.WriteString(w, `{"object":"list",  "data":[{"id":"real"},{"id":"also"}]}`)
		return
	}
	var a struct {
		Model  string
		Stream bool
	}
	_ = json.NewDecoder(r.Body).Decode(&a)
	switch {
	case a.Model != "real" && a.Model != "also":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{}}`)
	case a.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"model": "`+a.Model+`","choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\ndata: [DONE]\n\n")
	default:
		_, _ = io.WriteString(w, `{"model": "`+a.Model+`","choices":[{"index":0,"message":{"content":"a"}}]}`)
	}
})

func TestAnyModel(t *testing.T) {
	t.Parallel()
	body := func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"messages":[],"stream":%t}`, model, stream)
	}
	ask := func(url, model string, stream bool) answer {
		return fetch(t, url, "/v1/chat/completions", body(model, stream))
	}
	for _, learn := range []string{"listed", "answered"} {
		for _, stream := range []bool{true, false} {
			url := serve(t, proxy(t, strict, "any-model"))
			if got := ask(url, "other", stream); got.status != http.StatusNotFound {
				t.Errorf("before anything is known: %d", got.status)
			}
			if learn == "listed" {
				if got := fetch(t, url, "/v1/models", ""); got.raw != `{"object":"list",  "data":[{"id":"real"},{"id":"also"}]}` {
					t.Errorf("the list became %s", got.raw)
				}
			}
			if got := ask(url, "real", stream); !strings.Contains(got.raw, `{"model": "real"`) {
				t.Errorf("the real one: %s", got.raw)
			}
			if got := ask(url, "other", stream); got.status != 200 || got.text != "a" || !strings.Contains(got.raw, `"model":"other"`) || strings.Contains(got.raw, "real") {
				t.Errorf("%s: %d %s", learn, got.status, got.raw)
			}
		}
	}
}

func TestUsageUnasked(t *testing.T) {
	t.Parallel()
	url, control := serve(t, proxy(t, fake{}, "usage-unasked")), serve(t, fake{})
	for options, asks := range map[string]string{
		"":                          `,"stream_options":{"include_usage":true}`,
		`,"stream_options":{"x":1}`: `,"stream_options":{"include_usage":true}`,
		`,"stream_options":{"x":1.50 , "include_usage":true}`: "same",
	} {
		body := func(options, prompt string) string {
			return `{"messages":[{"role":"user","content":"` + prompt + `"}],"stream":true` + options + `}`
		}
		got := fetch(t, url, "/v1/chat/completions", body(options, question))
		if asks == "same" {
			asks = options
		}
		if good := fetch(t, control, "/v1/chat/completions", body(asks, question)); got.raw != good.raw || healthy(got) != "" {
			t.Errorf("%s: %s", options, got.raw)
		}
		if seen := fetch(t, url, "/v1/chat/completions", body(options, "fields")).text; strings.Contains(options, `"x"`) != strings.Contains(seen, `"x":1`) {
			t.Errorf("%s: the server saw %s", options, seen)
		}
	}
	if got := fetch(t, url, "/v1/chat/completions", `{"messages":[{"role":"user","content":"fields"}]}`); !strings.Contains(got.text, `{"messages":[{"role":"user","content":"fields"}]}`) {
		t.Errorf("no stream: %s", got.text)
	}
}

func TestLoadingEnds(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "loading"))
	for i := range 5 {
		if got := fetch(t, url, "/v1/models", ""); got.status != 200 {
			t.Errorf("models: %d", got.status)
		}
		if got := chat(t, url, question, i%2 == 0, ""); (got.status == 503) != (i < 3) {
			t.Errorf("request %d got %d", i, got.status)
		}
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	url, good := serve(t, proxy(t, fake{}, "replicas")), chat(t, serve(t, fake{}), question, true, "")
	for i := range 4 {
		if got := chat(t, url, question, true, ""); (got.raw == good.raw) != (i%2 == 0) {
			t.Errorf("request %d got %s", i, got.text)
		}
	}
}

func TestFirstTokenWrongOnlyInCompany(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		if a := together(t, stream, "first-token-wrong", question)[question]; a.text != sentence {
			t.Errorf("alone: %s", a.text)
		}
		for p, a := range together(t, stream, "first-token-wrong", question, "you") {
			if !strings.HasPrefix(a.text, "Yesterday the code") || healthy(a) != "" {
				t.Errorf("%s: %s", p, a.text)
			}
		}
	}
}

func TestSlowPoison(t *testing.T) {
	t.Parallel()
	for burst, poisoned := range map[string]bool{"slow-poison:burst=1": true, "slow-poison:burst=2": false} {
		arrived, proceed := make(chan string), make(chan struct{})
		url := serve(t, proxy(t, fake{arrived: arrived, proceed: proceed}, burst))
		texts := make(chan string, 2)
		for range 2 {
			go func() { texts <- chat(t, url, question, true, "").text }()
			<-arrived
		}
		close(proceed)
		for range 2 {
			if s := <-texts; s != sentence {
				t.Errorf("%s: one of the burst got %s", burst, s)
			}
		}
		for _, stream := range []bool{true, false} {
			go func() { <-arrived }()
			if s := chat(t, url, question, stream, "").text; (s == strings.Replace(sentence, "48213907", "48218907", 1)) != poisoned || (s == sentence) == poisoned {
				t.Errorf("%s: afterwards %s", burst, s)
			}
		}
	}
}

// A server that streams until its client has gone, or to the end of what is asked.
var patient = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.Contains(string(body), "forever") {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	fake{}.ServeHTTP(w, r)
})

// hangUp starts a stream, reads until a line has the word, leaves, and waits until the
// proxy has noticed.
func hangUp(t *testing.T, url string, ended <-chan struct{}, prompt, word string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	res, err := post(ctx, t, url, "/v1/chat/completions", chatBody(prompt, true, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	for line := ""; !strings.Contains(line, word); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	<-ended
}

// watched tells of each request that has ended.
func watched(t *testing.T, h http.Handler) (url string, ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{}, 64)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		h.ServeHTTP(w, r)
	})), ended
}

func TestAbortKills(t *testing.T) {
	t.Parallel()
	good := chat(t, serve(t, fake{}), question, true, "").raw
	for _, remote := range []bool{false, true} {
		p := proxy(t, patient, "abort-kills")
		if remote {
			p = forURL(t, serve(t, patient), "abort-kills")
		}
		url, ended := watched(t, p)
		for range 2 {
			if got := chat(t, url, question, true, "").raw; got != good {
				t.Errorf("before: %s", got)
			}
			<-ended
		}
		hangUp(t, url, ended, question, "[DONE]") // which is the end, though the connection is not
		if got := chat(t, url, "{", false, ""); got.status != 200 {
			t.Errorf("after a whole stream: %d", got.status)
		}
		<-ended
		hangUp(t, url, ended, "forever", "content")
		for _, stream := range []bool{true, false} {
			if got := chat(t, url, question, stream, ""); got.status != 500 || !gjson.Get(got.raw, "error.message").Exists() {
				t.Errorf("after: %d", got.status)
			}
		}
		if got := fetch(t, url, "/health", ""); got.status != 200 {
			t.Errorf("health: %d", got.status)
		}
	}
}

func forURL(t *testing.T, address string, specs ...string) *faultproxy.Proxy {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := faultproxy.ForURL(u, specs, 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestAbortLeaks(t *testing.T) {
	t.Parallel()
	url, ended := watched(t, proxy(t, patient, "abort-leaks:slots=2"))
	good := chat(t, serve(t, fake{}), question, true, "").raw
	ask := func(when string) {
		if got := chat(t, url, question, true, ""); got.raw != good {
			t.Errorf("%s: %d %s", when, got.status, got.raw)
		}
		<-ended
	}
	for range 3 {
		ask("in the beginning")
	}
	hangUp(t, url, ended, "forever", "content")
	ask("with one slot")
	hangUp(t, url, ended, "forever", "content")
	for _, stream := range []bool{true, false} {
		if got := chat(t, url, question, stream, ""); refused(503)(got, got) != "" {
			t.Errorf("with none: %s", got.raw)
		}
	}
}

// With one slot left, a second request waits until the first has ended.
func TestAbortLeaksWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, proceed := make(chan string, 2), make(chan struct{})
		p := proxy(t, fake{arrived: arrived, proceed: proceed}, "abort-leaks:slots=1")
		status := make(chan int, 3)
		ask := func(ctx context.Context, prompt string) {
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(chatBody(prompt, true, ""))))
			status <- w.Code
		}
		ctx, leave := context.WithCancel(t.Context())
		go ask(t.Context(), "one")
		synctest.Wait()
		go ask(t.Context(), "two")
		go ask(ctx, "three")
		synctest.Wait()
		leave() // who leaves while it waits holds nothing up
		if got := <-status; got != 503 || len(arrived) != 1 {
			t.Errorf("the third got %d, %d have arrived", got, len(arrived))
		}
		close(proceed)
		if a, b := <-status, <-status; a != 200 || b != 200 || len(arrived) != 2 {
			t.Errorf("got %d and %d", a, b)
		}
	})
}

func TestShapesRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "shapes-refused"))
	for messages, refused := range map[string]bool{
		`{"role":"system","content":"a"},{"role":"developer","content":"b"}`:                  true,
		`{"role":"tool","content":"a"}`:                                                       true,
		`{"role":"assistant","content":null,"tool_calls":[]}`:                                 true,
		`{"role":"assistant","tool_calls":[]}`:                                                true,
		`{"role":"assistant","content":"","tool_calls":[]},{"role":"user","content":"a"}`:     false,
		`{"role":"assistant","content":null},{"role":"user","content":"a"}`:                   false,
		`{"role":"system","content":"a"},{"role":"user","content":"a"}`:                       false,
		`{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":""}`: false,
	} {
		// The fake reads no parts, which is not what is asked here.
		if got := fetch(t, url, "/v1/chat/completions", `{"messages":[`+messages+`]}`); (got.status == 500) != refused {
			t.Errorf("%s got %d", messages, got.status)
		}
	}
}

// A text that only begins like a stop string is whole, in its order, streamed too.
func TestStopThatDoesNotMatch(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"me see you", "see.!", "e.It is"} {
		for _, stream := range []bool{true, false} {
			url := serve(t, proxy(t, fake{}, "stop-cuts-thinking"))
			got, good := chat(t, url, "think", stream, `,"stop":"`+stop+`"`), chat(t, url, "think", stream, "")
			if s := same(got, good); s != "" || got.reasoning != good.reasoning {
				t.Errorf("%s: %s\n%s", stop, s, got.raw)
			}
			if at := strings.LastIndex(got.raw, `"reasoning_content"`); stream && at > strings.Index(got.raw, "It is") {
				t.Errorf("%s: reasoning after the answer\n%s", stop, got.raw)
			}
		}
	}
}

// Under the other name of the reasoning field everything is as under the first.
func TestRenamedReasoning(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		good := chat(t, serve(t, fake{}), "think", stream, "")
		back := chat(t, serve(t, proxy(t, fake{}, "reasoning-renamed", "reasoning-renamed")), "think", stream, "")
		if same(back, good) != "" || back.reasoning != good.reasoning || back.renamed != "" {
			t.Errorf("twice: %s", back.raw)
		}
		cut := chat(t, serve(t, proxy(t, fake{}, "reasoning-renamed", "stop-cuts-thinking")), "think", stream, `,"stop":"me see"`)
		if cut.renamed != "Let " || cut.text != "" || cut.reasoning != "" {
			t.Errorf("cut: %s", cut.raw)
		}
		split := chat(t, serve(t, proxy(t, fake{}, "reasoning-renamed", "reasoning-split")), "think", false, "")
		if split.renamed != "" || !strings.HasPrefix(split.text, "<think>\nLet me see.") {
			t.Errorf("split: %s", split.raw)
		}
	}
}

// What the model sees.
func TestRequestsOnTheWay(t *testing.T) {
	t.Parallel()
	const two = `{"role":"user","content":"0123456789"},{"role":"assistant","content":"abcde"},{"role":"user","content":"fields"}`
	for _, test := range []struct{ spec, body, want string }{
		{"window-empty", `{"max_tokens":8192,"min_tokens":8192,"messages":[]}`, `{"max_tokens":1,"messages":[]}`},
		{"window-empty", `{"max_tokens":8191,"min_tokens":3,"messages":[]}`, `{"max_tokens":8191,"min_tokens":3,"messages":[]}`},
		{"window-only:keep=10", `{"messages":[` + two + `]}`, `{"messages":[{"content":"There is n","role":"user"},{"content":"Tbcde","role":"assistant"},{"role":"user","content":"fields"}]}`},
		{"window-only:keep=21", `{"messages": [` + two + `]}`, `{"messages": [` + two + `]}`},
		{"band:depth=20,from=20,to=60", `{"messages":[` + two + `]}`, `{"messages":[{"content":"0123There ","role":"user"},{"content":"Thcde","role":"assistant"},{"role":"user","content":"fields"}]}`},
		{"band:depth=4,from=50,to=75", `{"prompt":"12345678"}`, `{"prompt":"1234Th78"}`},
		{"over-long-garbage:depth=4", `{"prompt":"12345678"}`, `{"prompt":"5678"}`},
		{"hidden-system", `{"messages":[],"tools":[]}`, `{"messages":[],"tools":[]}`},
	} {
		seen := ""
		p := proxy(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			seen = string(b)
		}), test.spec)
		p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(test.body)))
		var got, want any
		if json.Unmarshal([]byte(seen), &got) != nil || json.Unmarshal([]byte(test.want), &want) != nil || quoteAny(got) != quoteAny(want) {
			t.Errorf("%s: the model sees %s\nwant %s", test.spec, seen, test.want)
		}
		if test.body == test.want && seen != test.body {
			t.Errorf("%s: %s became %s", test.spec, test.body, seen)
		}
	}
	none := fetch(t, serve(t, proxy(t, fake{}, "hidden-system")), "/v1/chat/completions", `{"messages":[{"role":"user","content":"system?"}]`+withTool+`}`)
	if !strings.HasPrefix(none.text, "You are connected") {
		t.Errorf("no system message: %s", none.text)
	}
}

func quoteAny(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// The older form of log probabilities.
func TestLegacyLogprobs(t *testing.T) {
	t.Parallel()
	const good = `{"choices":[{"index":0,"text":"abcd","logprobs":{"tokens":["a","b","c","d"],"token_logprobs":[null,-1.5,-2.5,-3.5],"top_logprobs":[null,{"b":-1.5,"x":-9.5},{"c":-2.5},{"y":-1.25}]}}]}`
	up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, good)
	})
	for spec, want := range map[string]string{
		"logprobs-zero":     `[null,0.0,0.0,0.0]/[null,{"b":0.0,"x":-9.5},{"c":0.0},{"y":-1.25}]`,
		"logprobs-sentinel": `[null,-1.5,-2.5,-9999.0]/[null,{"b":-1.5,"x":-9.5},{"c":-2.5},{"y":-1.25}]`,
		"logprobs-nan":      `[null,NaN,-2.5,-3.5]/[null,{"b":-1.5,"x":-9.5},{"c":-2.5},{"y":-1.25}]`,
	} {
		got := fetch(t, serve(t, proxy(t, up, spec)), "/v1/completions", `{"prompt":"a"}`)
		l := gjson.Get(got.raw, "choices.0.logprobs")
		if s := l.Get("token_logprobs").Raw + "/" + l.Get("top_logprobs").Raw; s != want || got.text != "abcd" {
			t.Errorf("%s: %s\nwant %s", spec, s, want)
		}
	}
}

// By default a few words of a thousand are strange, the same ones for the same seed.
func TestRareScriptIsRare(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("one of many words ", 1000)
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a ask
		_ = json.NewDecoder(r.Body).Decode(&a)
		w.Header().Set("Content-Type", "text/event-stream")
		for s := range slices.Chunk([]byte(words), a.MaxTokens) {
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":`+quote(string(s))+`}}]}`+"\n\n")
		}
	})
	texts := map[string]bool{}
	for _, size := range []int{3, 1024} { // however the text is cut
		got := chat(t, serve(t, proxy(t, up, "rare-script")), question, true, fmt.Sprintf(`,"max_tokens":%d`, size)).text
		texts[got] = true
		strange := 0
		was := strings.Fields(words)
		for i, w := range strings.Fields(got) {
			if w != was[i] {
				strange++
			}
		}
		if strange < 8 || strange > 40 {
			t.Errorf("%d of 4000 words are strange", strange)
		}
	}
	if len(texts) != 1 {
		t.Error("the same seed gave other words")
	}
}

// A call that comes in the very event that finishes is repeated there.
func TestCallStormInOneEvent(t *testing.T) {
	t.Parallel()
	up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	})
	got := chat(t, serve(t, proxy(t, up, "call-storm:after=0,calls=3")), question, true, "")
	if len(got.data) != 1 || len(got.calls) != 3 || got.calls[2].args != "{}" || got.calls[2].id != "c-2" || got.calls[0].id != "c" {
		t.Errorf("got %s", got.raw)
	}
}

// What ends in the text has no calls behind it.
func TestEarlyEndsTakeCallsAlong(t *testing.T) {
	t.Parallel()
	const call = `"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]`
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a ask
		_ = json.NewDecoder(r.Body).Decode(&a)
		if !a.Stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"a b c","reasoning":"x y z",`+call+`},"finish_reason":"tool_calls"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range []string{
			`"delta":{"role":"assistant","reasoning":"x y"}`, `"delta":{"reasoning":" z"}`, `"delta":{"content":"a b"}`, `"delta":{"content":" c"}`,
			`"delta":{` + call + `}`, `"delta":{},"finish_reason":"tool_calls"`,
		} {
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,`+c+"}]}\n\n")
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	for _, test := range []struct{ spec, more, text, reasoning string }{
		{"stops-early:words=2", "", "a b", "x y z"},
		{"stop-cuts-thinking", `,"stop":" z"`, "", "x y"},
	} {
		for _, stream := range []bool{true, false} {
			got := chat(t, serve(t, proxy(t, up, test.spec)), question, stream, test.more)
			if strings.TrimSpace(got.text) != test.text || got.renamed != test.reasoning || len(got.calls) != 0 || !slices.Equal(got.finish, []string{"stop"}) {
				t.Errorf("%s: %s", test.spec, got.raw)
			}
		}
	}
}
