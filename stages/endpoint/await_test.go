package endpoint_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"infbench/internal/refengine"
	"infbench/stages/endpoint"
)

func target(t *testing.T, url string) endpoint.Target {
	t.Helper()
	out, err := endpoint.ParseTarget(url, endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A server that loads is waited for: it refuses connections, then says 503, then lists
// its models and is busy, and then answers.
func TestAwaitWaits(t *testing.T) {
	t.Parallel()
	e, err := refengine.New(refengine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // refused from here on
	var asked atomic.Int64
	loading := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n <= 3 || n <= 8 && strings.HasSuffix(r.URL.Path, "/completions") {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":{"message":"Loading model"}}`))
			return
		}
		e.ServeHTTP(w, r)
	})
	var reasons []string
	started := false
	err = endpoint.Await(t.Context(), target(t, "http://"+address), endpoint.Options{}, time.Minute, func(why string) {
		reasons = append(reasons, why)
		if started {
			return
		}
		started = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("the port was taken meanwhile: %v", err)
			return
		}
		s := httptest.NewUnstartedServer(loading)
		s.Listener = l
		s.Start()
		t.Cleanup(s.Close)
	})
	if err != nil || len(reasons) < 2 || !strings.Contains(strings.Join(reasons, "; "), "503") && !strings.Contains(strings.Join(reasons, "; "), "Loading model") {
		t.Errorf("%v, reasons %q", err, reasons)
	}
}

// A wrong answer is not waited for, and neither is a server that never comes up for
// longer than was said.
func TestAwaitEnds(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(page.Close)
	if err := endpoint.Await(t.Context(), target(t, page.URL), endpoint.Options{}, time.Hour, nil); err != nil {
		t.Error(err)
	}
	err := endpoint.Await(t.Context(), target(t, "http://127.0.0.1:1"), endpoint.Options{}, time.Millisecond, nil)
	var f *endpoint.Failure
	if !errors.As(err, &f) || f.Kind != endpoint.Unreachable || !strings.Contains(err.Error(), "not ready within 1ms") {
		t.Errorf("got %v", err)
	}
}
