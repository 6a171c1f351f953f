package endpoint_test

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"infbench/gates"
	"infbench/internal/refengine"
	"infbench/stages/endpoint"
)

// swap is a server whose engine can be replaced, as a restart does.
func swap(t *testing.T, c refengine.Config) (endpoint.Endpoint, func(refengine.Config)) {
	t.Helper()
	var engines []*refengine.Engine
	start := func(c refengine.Config) *refengine.Engine {
		e, err := refengine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
		return e
	}
	s := httptest.NewServer(start(c))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		for _, e := range engines {
			_ = e.Close()
		}
	})
	target, err := endpoint.ParseTarget(s.URL+"/v1", endpoint.TargetOptions{Key: c.APIKey})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{InFlight: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	return ep, func(c refengine.Config) { s.Config.Handler = start(c) }
}

func TestTheEmbeddedEngine(t *testing.T) {
	ep, restart := swap(t, refengine.Config{Version: "7", APIKey: "sk-secret", Thinks: true})
	b := ep.Build()
	if ep.Engine().Name() != "infbench-reference" || b.Version != "7" || !strings.Contains(b.Device, "clock model") || b.Process == "" || b.Config == "" {
		t.Errorf("%s: %+v", ep.Engine().Name(), b)
	}
	if n, ok := b.ContextTokens.N(); !ok || n != 32768 {
		t.Errorf("context %d", n)
	}
	if got, err := ep.Changed(t.Context()); got != "" || err != nil {
		t.Errorf("nothing changed: %q, %v", got, err)
	}
	n, err := ep.CountTokens(t.Context(), "Hello there, world.")
	if err != nil || n < 3 || n > 12 {
		t.Errorf("counted %d, %v", n, err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a, err := ep.Ask(t.Context(), endpoint.Chat("What is 17 + 25? Answer with the number only.").PerChunkUsage())
			if err != nil || len(a.Broke) > 0 || a.End != endpoint.Done || a.Reasoning == "" {
				t.Errorf("%v, %v, end %s, reasoning %q", err, a.Broke, a.End, a.Reasoning)
				return
			}
			var tokens int
			for _, m := range a.Timing.Marks {
				tokens += int(m.Tokens)
			}
			if want := a.Usage.Completion.Or(-1); tokens < want-2 || tokens > want {
				t.Errorf("the marks hold %d tokens, the usage %d", tokens, want)
			}
			if t1 := a.Timing; !(0 < t1.Wrote && t1.Wrote <= t1.FirstToken && t1.FirstToken < t1.FirstAnswer && t1.FirstAnswer <= t1.LastToken && t1.LastToken <= t1.Ended) {
				t.Errorf("times out of order: %+v", t1)
			}
		})
	}
	wg.Wait()
	if len(ep.Refused()) > 0 {
		t.Errorf("refused %q", ep.Refused())
	}

	cold, how := ep.Cold(endpoint.Chat("A prompt that is long enough to fill more than one block of the cache, and some more words for good measure."), "one")
	if how != "cache_salt" {
		t.Errorf("cold by %q", how)
	}
	for range 2 {
		if a := ep.Stream(t.Context(), cold); a.Failure != nil {
			t.Error(a.Failure)
		}
	}
	other, _ := ep.Cold(endpoint.Chat("A prompt that is long enough to fill more than one block of the cache, and some more words for good measure."), "two")
	if a := ep.Stream(t.Context(), other); a.Usage.Cached != gates.CountOf(0) {
		t.Errorf("a cold request found %v cached", a.Usage.Cached)
	}
	if err := ep.Engine().(endpoint.CacheFlusher).FlushCache(t.Context()); err != nil {
		t.Error(err)
	}

	restart(refengine.Config{Version: "8", APIKey: "sk-secret"})
	got, err := ep.Changed(t.Context())
	if err != nil || !strings.Contains(got, "the version was 7 and is 8") || !strings.Contains(got, "the server process was") {
		t.Errorf("a restart with another version: %q, %v", got, err)
	}
}
