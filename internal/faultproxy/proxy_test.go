package faultproxy_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"infbench/internal/faultproxy"
)

const odd = ": hello\r\n\r\ndata: {\"b\":1, \"a\" :2} \n\nevent: x\ndata:{\"choices\":[]}\n\n\n\ndata: tail without end"

// oddStream has all that a rewriting proxy would tidy up.
var oddStream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, odd[:10])
	_ = http.NewResponseController(w).Flush()
	_, _ = io.WriteString(w, odd[10:])
})

func TestBytesPassExactly(t *testing.T) {
	t.Parallel()
	up, err := url.Parse(serve(t, oddStream))
	if err != nil {
		t.Fatal(err)
	}
	remote, err := faultproxy.ForURL(up, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remote.Close)
	for name, p := range map[string]*faultproxy.Proxy{
		"no fault":      proxy(t, oddStream),
		"no fault, URL": remote,
		// It parses the events and finds nothing of its own in them.
		"a fault without occasion": proxy(t, oddStream, "tool-no-id"),
		"a condition":              proxy(t, oddStream, "id-changes:after=9"),
	} {
		t.Run(name, func(t *testing.T) {
			got := chat(t, serve(t, p), question, true, "")
			if got.raw != odd || got.header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("got %q\nwant %q", got.raw, odd)
			}
		})
	}
}

func TestFaultBeforeURL(t *testing.T) {
	t.Parallel()
	up, err := url.Parse(serve(t, http.StripPrefix("/base", fake{})) + "/base")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"markers", "truncated", "cut"} {
		p, err := faultproxy.ForURL(up, []string{spec}, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := chat(t, serve(t, p), question, true, "")
		if (got.broken != nil) != (spec == "cut") || strings.Contains(got.text, "<|im_end|>") != (spec == "markers") {
			t.Errorf("%s: %v\n%s", spec, got.broken, got.raw)
		}
		p.Close()
	}
}

func TestUpstreamAway(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	up, _ := url.Parse(gone.URL)
	p, err := faultproxy.ForURL(up, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := chat(t, serve(t, p), question, true, ""); got.status != http.StatusBadGateway {
		t.Errorf("status %d", got.status)
	}
}

// Each event must reach the client before the upstream makes the next one.
func TestEventsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"", "no-done", "id-changes", "markers", "comments", "abort-kills", "first-token-wrong:above=0", "stops-early:words=99",
		"quiet-kv", "tenant-tail", "decoy:depth=0", "drift-in-company", "far-in-company:above=0,words=40", "response-cache", "duplicated-stream", "preempt-offset", "evicted-wrong",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			pause := make(chan struct{})
			var specs []string
			if spec != "" {
				specs = []string{spec}
			}
			res, err := post(t.Context(), t, serve(t, proxy(t, fake{pause: pause}, specs...)), "/v1/chat/completions", chatBody(question, true, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			r, events := bufio.NewReader(res.Body), 0
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					break
				}
				if strings.HasPrefix(line, "data: ") {
					events++
					pause <- struct{}{} // the upstream goes on only now
				}
				if strings.Contains(line, `"usage"`) && spec == "no-done" {
					pause <- struct{}{} // for the event that is dropped
				}
			}
			if events < 13 {
				t.Errorf("%d events", events)
			}
		})
	}
}

func TestBufferedHoldsBack(t *testing.T) {
	t.Parallel()
	rec := record(t, proxy(t, fake{}, "buffered"), chatBody(question, true, ""))
	if rec.n != 1 || !strings.HasSuffix(rec.Body.String(), "data: [DONE]\n\n") {
		t.Errorf("%d writes: %s", rec.n, rec.Body)
	}
}

func record(t *testing.T, h http.Handler, body string) *writes {
	t.Helper()
	rec := &writes{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return rec
}

type writes struct {
	*httptest.ResponseRecorder
	n int
}

func (w *writes) Write(b []byte) (int, error) {
	w.n++
	return w.ResponseRecorder.Write(b)
}

func TestStaysOpenUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	for spec, last := range map[string]string{"stays-open": `"usage"`, "stays-open:done=1": "[DONE]"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ended := make(chan struct{})
			p := proxy(t, fake{}, spec)
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				p.ServeHTTP(w, r)
			}))
			res, err := post(ctx, t, url, "/v1/chat/completions", chatBody(question, true, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			r := bufio.NewReader(res.Body)
			for line := ""; !strings.Contains(line, last); {
				if line, err = r.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-ended:
				t.Error("ended by itself")
			default:
			}
			leave()
			<-ended
		})
	}
}

func TestHang(t *testing.T) {
	t.Parallel()
	p := proxy(t, fake{}, "hang:after=1")
	entered := make(chan struct{}, 2)
	ended := make(chan struct{}, 2)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		p.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	if got := chat(t, url, question, false, ""); got.text != sentence {
		t.Errorf("the first request got %q", got.text)
	}
	<-entered
	<-ended
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-entered
		leave()
	}()
	if res, err := post(ctx, t, url, "/v1/chat/completions", chatBody(question, false, "")); err == nil {
		res.Body.Close()
		t.Errorf("the second request was answered with %d", res.StatusCode)
	}
	<-ended
	if got := fetch(t, url, "/health", ""); got.status != 200 {
		t.Errorf("health is %d", got.status)
	}
}

func TestSeveralFaultsActInOrder(t *testing.T) {
	t.Parallel()
	got := chat(t, serve(t, proxy(t, fake{}, "markers", "tool-finish-stop", "usage-double", "no-done", "two-finishes")), question, true, "")
	if got.text != sentence+"<|im_end|><|im_start|>" || got.done != 0 || len(got.finish) != 2 || got.usage.Get("completion_tokens").Int() != 24 {
		t.Errorf("got %s", got.raw)
	}
}

// A stream that the upstream breaks off stays broken.
func TestUpstreamBreaksOff(t *testing.T) {
	t.Parallel()
	up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if got := chat(t, serve(t, proxy(t, up, "markers")), question, true, ""); got.broken == nil || got.text != "a" {
		t.Errorf("got %v %s", got.broken, got.raw)
	}
}

// Errors of the upstream are not what a fault is about.
func TestErrorsPass(t *testing.T) {
	t.Parallel()
	got := fetch(t, serve(t, proxy(t, fake{}, "one-token", "usage-double")), "/v1/chat/completions", "{")
	if got.status != 400 || !strings.Contains(got.raw, `{"error":{}}`) {
		t.Errorf("got %d %s", got.status, got.raw)
	}
}

// Each request has a connection of its own: a server that closes idle ones just as they
// are taken again would make a fault that nobody asked for.
func TestNoConnectionIsTakenAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	up, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.ForURL(up, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	for range 3 {
		w := httptest.NewRecorder()
		proxy.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader("{}")))
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
	if n := opened.Load(); n != 3 {
		t.Errorf("%d connections for 3 requests", n)
	}
}
