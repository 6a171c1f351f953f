package endpoint

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// openedBy returns an endpoint and how many connections were opened to it.
func openedBy(t *testing.T, inFlight int) (Endpoint, *atomic.Int64) {
	t.Helper()
	opened := new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
			return
		}
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
			return
		}
		http.NotFound(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	target, err := ParseTarget(s.URL, TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := Open(t.Context(), target, Options{InFlight: inFlight})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	return ep, opened
}

// After warming, as many requests at once open no further connection.
func TestWarmConnectionsAreUsed(t *testing.T) {
	t.Parallel()
	const n = 40
	ep, opened := openedBy(t, n)
	before := int(opened.Load())
	w, err := ep.Warm(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if w.Ready != n || w.Opened != int(opened.Load())-before || len(w.Dialled) != w.Opened || int(opened.Load()) < n {
		t.Errorf("%d ready, %d opened, %d times; the server saw %d, and %d before", w.Ready, w.Opened, len(w.Dialled), opened.Load(), before)
	}
	if again, err := ep.Warm(t.Context(), n); err != nil || again.Opened != 0 || again.Ready != n {
		t.Errorf("warming what is warm opened %d: %v", again.Opened, err)
	}
	before = int(opened.Load())
	p, err := ep.Prepare(Chat("hello"), true)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if a := ep.Send(t.Context(), p); a.Failure != nil || a.Timing.Fresh {
			t.Fatal(a.Failure, a.Timing.Fresh)
		}
	}
	if opened.Load() != int64(before) {
		t.Errorf("%d connections were opened after warming", opened.Load()-int64(before))
	}
}

func TestWarmingWhatIsGoneFails(t *testing.T) {
	t.Parallel()
	target, err := ParseTarget("http://127.0.0.1:1", TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep := Endpoint{&shared{client: newClient(target, DefaultLimits(), 4)}}
	if w, err := ep.Warm(t.Context(), 4); err == nil || w.Ready != 0 {
		t.Errorf("%d ready, %v", w.Ready, err)
	}
}
