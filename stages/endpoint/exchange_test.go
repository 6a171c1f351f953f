package endpoint

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An observer is told of every exchange whole: what was sent, what came as it was
// assembled, and the words of a body that was no answer, without the key.
func TestObserve(t *testing.T) {
	const key = "sk-0123456789"
	replies := []*http.Response{
		streamReply(text("seven"), text("ty"), finish("stop"), done),
		jsonReply(200, `{"id":"x1","model":"m","choices":[{"index":0,"message":{"content":"42"},"finish_reason":"stop"}]}`),
		jsonReply(400, `{"error":{"message":"no such thing for `+key+`"}}`),
		jsonReply(503, `{"error":"busy"}`),
		streamReply(text("four"), `data: {"error":{"message":"out of memory"}}`+"\n\n"),
		jsonReply(200, "<html>hello"),
		jsonReply(422, `{"detail":"no"}`),
		jsonReply(200, `{"choices":[{"index":0,"message":{"content":"posted"},"finish_reason":"stop"}]}`),
	}
	var told []Exchange
	target, err := ParseTarget("http://127.0.0.1:1", TargetOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	ep, err := Open(t.Context(), target, Options{Observe: func(x Exchange) { told = append(told, x) }, Transport: tripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != chatPath {
			return jsonReply(200, `{"data":[{"id":"m"}]}`), nil
		}
		b, err := io.ReadAll(r.Body)
		sent = append(sent, string(b))
		return replies[len(sent)-1], err
	})})
	if err != nil {
		t.Fatal(err)
	}
	ask := Chat("What is 17 + 25?").MaxTokens(8)
	ep.Stream(t.Context(), ask.HangUp(5))
	ep.Complete(t.Context(), ask)
	refused := ep.Complete(t.Context(), ask)
	ep.Stream(t.Context(), ask)
	ep.Stream(t.Context(), ask)
	ep.Complete(t.Context(), ask)
	for range 2 {
		if _, _, err := ep.Post(t.Context(), `{"model": `); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != len(replies) {
		t.Fatalf("told of %d exchanges, want %d", len(told), len(replies))
	}
	for i, want := range []struct {
		stream         bool
		hangUp, status int
		content, raw   string
		kind           Kind
	}{
		{true, 5, 200, "seventy", "", ""},
		{false, 0, 200, "42", "", ""},
		{false, 0, 400, "", `{"error":{"message":"no such thing for «API key»"}}`, Refused},
		{true, 0, 503, "", `{"error":"busy"}`, Busy},
		{true, 0, 200, "four", `{"error":{"message":"out of memory"}}`, SaidError},
		{false, 0, 200, "", "<html>hello", NotTheAPI},
		{false, 0, 422, "", `{"detail":"no"}`, Refused},
		{false, 0, 200, "posted", "", ""},
	} {
		x := told[i]
		var kind Kind
		if x.Answer.Failure != nil {
			kind = x.Answer.Failure.Kind
		}
		got := fmt.Sprint(x.Number, string(x.Body) == sent[i], x.Stream, x.HangUp, x.Answer.Status, x.Answer.Content, string(x.Raw), kind, x.Again, x.Answer.Timing.Began.IsZero(), x.Answer.raw == nil)
		if w := fmt.Sprint(i+1, true, want.stream, want.hangUp, want.status, want.content, want.raw, want.kind, false, false, true); got != w {
			t.Errorf("exchange %d:\n got %s\nwant %s", i+1, got, w)
		}
	}
	if refused.raw != nil {
		t.Error("the answer holds on to a body that nobody else reads")
	}
}

// The numbers are the order in which requests began, whatever the order of their ends; the
// times say how they overlapped.
func TestObserveInCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Exchange
		slow := tripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != chatPath {
				return jsonReply(200, `{"data":[{"id":"m"}]}`), nil
			}
			b, err := io.ReadAll(r.Body)
			wait := time.Second
			if strings.Contains(string(b), "slow") {
				wait = 10 * time.Second
			}
			return eventStream(io.NopCloser(newScript(r, []step{{wait: wait, text: text("a") + finish("stop") + done}}))), err
		})
		observe := make(chan Exchange, 2)
		ep, err := Open(t.Context(), mustTarget(t, "http://127.0.0.1:1"), Options{Transport: slow, Observe: func(x Exchange) { observe <- x }})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		go ep.Stream(t.Context(), Chat("slow"))
		synctest.Wait()
		time.Sleep(3 * time.Second)
		go ep.Stream(t.Context(), Chat("quick"))
		for range 2 {
			told = append(told, <-observe)
		}
		for i, want := range []struct {
			number       int64
			began, ended time.Duration
		}{{2, 3 * time.Second, 4 * time.Second}, {1, 0, 10 * time.Second}} {
			x := told[i]
			began := x.Answer.Timing.Began.Sub(start)
			if x.Number != want.number || began != want.began || began+x.Answer.Timing.Ended != want.ended {
				t.Errorf("told %d: number %d from %v to %v, want %+v", i, x.Number, began, began+x.Answer.Timing.Ended, want)
			}
		}
	})
}

// A check that judges what another one asked is given those exchanges too, and a nested
// finding those of all that it was made from.
func TestRememberTellsAgain(t *testing.T) {
	var told []string
	ep := opened(t, Options{Observe: func(x Exchange) { told = append(told, fmt.Sprint(x.Number, x.Again)) }}, func(string) *http.Response {
		return streamReply(text("a"), finish("stop"), done)
	})
	one := func() (string, error) {
		return Remember(ep, "one", func() (string, error) { return ep.Stream(t.Context(), Chat("?")).Content, nil })
	}
	two := func() (string, error) {
		return Remember(ep, "two", func() (string, error) {
			a, err := one()
			return a + ep.Stream(t.Context(), Chat("?")).Content, err
		})
	}
	for _, c := range []struct {
		find func() (string, error)
		want []string
	}{
		{one, []string{"1 false"}},
		{one, []string{"1 true"}},
		{two, []string{"1 true", "2 false"}},
		{two, []string{"1 true", "2 true"}},
	} {
		told = nil
		if _, err := c.find(); err != nil || !slices.Equal(told, c.want) {
			t.Errorf("told %v, want %v (%v)", told, c.want, err)
		}
	}
}

// Observing costs nothing a token: a stream of 5,000 chunks allocates as much more with
// an observer as one of 50 does.
func TestObservingAllocatesNothingAToken(t *testing.T) {
	allocs := func(chunks int, observe func(Exchange)) float64 {
		body := vllmBody(chunks)
		ep := opened(t, Options{Observe: observe}, func(string) *http.Response { return eventStream(io.NopCloser(bytes.NewReader(body))) })
		p, err := ep.Prepare(Chat("?").MaxTokens(chunks), true)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(5, func() {
			if a := ep.Send(t.Context(), p); len(a.Timing.Marks) != chunks {
				t.Fatal(len(a.Timing.Marks))
			}
		})
	}
	for _, chunks := range []int{50, 5000} {
		alone, seen := allocs(chunks, nil), allocs(chunks, func(Exchange) {})
		if seen > alone+16 {
			t.Errorf("%d chunks: %.0f allocations with an observer, %.0f without", chunks, seen, alone)
		}
	}
}

// A body that exists is sent byte for byte, with the same end.
func TestPrepareBody(t *testing.T) {
	const body = `{"max_completion_tokens": 7, "messages": [ ], "stream":true}`
	got := ""
	ep := opened(t, Options{}, func(b string) *http.Response {
		got = b
		return streamReply(text("a"), text("b"), text("c"), finish("stop"), done)
	})
	a := ep.Send(t.Context(), PrepareBody([]byte(body), true, 2))
	if got != body || a.Content != "ab" || a.End != HungUp {
		t.Errorf("sent %q, got %q, %s", got, a.Content, a.End)
	}
	for body, want := range map[string]int{body: 7, `{"max_tokens":3}`: 3, `{"max_tokens":-3}`: 0, `{"max_tokens":"3"}`: 0, `{"max_tokens"`: 0, "": 0} {
		if n := tokenLimit([]byte(body)); n != want {
			t.Errorf("%s: limit %d, want %d", body, n, want)
		}
	}
}
