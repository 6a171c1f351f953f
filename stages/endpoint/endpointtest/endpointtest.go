// Package endpointtest opens endpoints for the tests of checks: the embedded engine
// behind the fault proxy, as a fixture describes them.
//
// Lines of a fixture's comment: "fault: SPEC" (may be repeated; see internal/faultproxy),
// "engine: WORDS" out of thinks, no-prefix-cache, slow-prefill, nameless (hides every sign of the
// engine), no-cached-count, context=TOKENS, kv-blocks=N, device=NAME, restarts-above=N (shows another process once
// more than N requests were in flight), metric=NAME=VALUE (one more on the page of metrics), sglang=JSON (SGLang
// with these server arguments); "in-flight: N"; "requests: N" to send before
// the check looks; "reference: as it is" for a second engine without the faults.
package endpointtest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates/gatetest"
	"infbench/internal/faultproxy"
	"infbench/internal/refengine"
	"infbench/stages/endpoint"
)

// Limits are short enough for a test to see a hang, and long enough for a busy machine.
func Limits() endpoint.Limits {
	l := endpoint.DefaultLimits()
	l.First, l.Gap, l.Settle, l.Total = 8*time.Second, 8*time.Second, 400*time.Millisecond, 60*time.Second
	return l
}

// Open starts what the fixture describes and opens it; everything ends with the test.
func Open(t *testing.T, fixture *txtar.Archive) endpoint.Endpoint {
	t.Helper()
	target, err := endpoint.ParseTarget(Serve(t, fixture), endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inFlight := 4
	if n, err := strconv.Atoi(gatetest.Field(fixture, "in-flight")); err == nil {
		inFlight = n
	}
	limits := Limits()
	if d, err := time.ParseDuration(gatetest.Field(fixture, "first-within")); err == nil {
		limits.First = d
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{InFlight: inFlight, Seed: 1, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	requests, _ := strconv.Atoi(gatetest.Field(fixture, "requests"))
	for range requests {
		ep.Complete(t.Context(), endpoint.Chat("Hello").MaxTokens(1))
	}
	return ep
}

// Reference opens another engine of the same kind without faults, false where the fixture
// asks for none.
func Reference(t *testing.T, fixture *txtar.Archive) (endpoint.Endpoint, bool) {
	t.Helper()
	if gatetest.Field(fixture, "reference") == "" {
		return endpoint.Endpoint{}, false
	}
	healthy := &txtar.Archive{Comment: faultLine.ReplaceAll(fixture.Comment, nil)}
	return Open(t, healthy), true
}

var faultLine = regexp.MustCompile(`(?m)^fault: .*$`)

// Serve starts what the fixture describes and returns its address.
func Serve(t *testing.T, fixture *txtar.Archive) string {
	t.Helper()
	s := httptest.NewServer(Handler(t, fixture))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// Handler starts what the fixture describes without a place to listen.
func Handler(t *testing.T, fixture *txtar.Archive) http.Handler {
	t.Helper()
	config := refengine.Config{Version: "test"}
	words := strings.Fields(gatetest.Field(fixture, "engine"))
	for _, w := range words {
		switch w {
		case "thinks":
			config.Thinks = true
		case "no-prefix-cache":
			config.NoPrefixCache = true
		case "slow-prefill":
			config.Cost = refengine.SlowPrefill()
		}
		if n, ok := strings.CutPrefix(w, "context="); ok {
			config.ContextLength, _ = strconv.Atoi(n)
		}
		if n, ok := strings.CutPrefix(w, "kv-blocks="); ok {
			config.KVBlocks, _ = strconv.Atoi(n)
		}
	}
	e, err := refengine.New(config)
	if err != nil {
		t.Fatal(err)
	}
	var specs []string
	for line := range strings.SplitSeq(string(fixture.Comment), "\n") {
		if spec, ok := strings.CutPrefix(line, "fault: "); ok {
			specs = append(specs, strings.TrimSpace(spec))
		}
	}
	p, err := faultproxy.ForHandler(disguise(e, words), specs, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		_ = e.Close()
	})
	return p
}

var cachedCount = regexp.MustCompile(`,"prompt_tokens_details":\{[^}]*\}`)

// disguise changes what the engine shows of itself.
func disguise(h http.Handler, words []string) http.Handler {
	for _, w := range words {
		if device, ok := strings.CutPrefix(w, "device="); ok {
			h = rewrite(h, "/version", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("none (clock model)"), []byte(device)) })
		}
		if info, ok := strings.CutPrefix(w, "sglang="); ok {
			h = rewrite(h, "/v1/models", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"infbench"`), []byte(`"sglang"`)) })
			h = page(h, "/get_server_info", info)
		}
		if metric, ok := strings.CutPrefix(w, "metric="); ok {
			h = rewrite(h, "/metrics", func(b []byte) []byte { return append(bytes.Clone(b), strings.ReplaceAll(metric, "=", " ")+"\n"...) })
		}
		if n, ok := strings.CutPrefix(w, "restarts-above="); ok {
			most, _ := strconv.ParseInt(n, 10, 64)
			h = restarts(h, most)
		}
		switch w {
		case "nameless":
			h = rewrite(h, "/v1/models", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"infbench"`), []byte(`"somebody"`)) })
			h = rewrite(h, "/metrics", func([]byte) []byte { return nil })
		case "no-cached-count":
			h = rewrite(h, "/v1/chat/completions", func(b []byte) []byte { return cachedCount.ReplaceAll(b, nil) })
		}
	}
	return h
}

// restarts shows another start of the process once more than most requests for an
// answer were in flight together.
func restarts(h http.Handler, most int64) http.Handler {
	var inFlight atomic.Int64
	var restarted atomic.Bool
	shown := rewrite(h, "/metrics", func(b []byte) []byte {
		if restarted.Load() {
			b = bytes.ReplaceAll(b, []byte("process_start_time_seconds "), []byte("process_start_time_seconds 9"))
		}
		return b
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/completions") {
			if inFlight.Add(1) > most {
				restarted.Store(true)
			}
			defer inFlight.Add(-1)
		}
		shown.ServeHTTP(w, r)
	})
}

// page shows one more page.
func page(h http.Handler, path, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	})
}

func rewrite(h http.Handler, path string, change func([]byte) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			w = &rewriter{w, change}
		}
		h.ServeHTTP(w, r)
	})
}

// rewriter changes each write; the engine writes an event in one.
type rewriter struct {
	http.ResponseWriter
	change func([]byte) []byte
}

func (w *rewriter) Write(b []byte) (int, error) {
	w.Header().Del("Content-Length")
	_, err := w.ResponseWriter.Write(w.change(b))
	return len(b), err
}

// WriteHeader drops the length, which the change makes wrong.
func (w *rewriter) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}

// Flush keeps the stream a stream.
func (w *rewriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
