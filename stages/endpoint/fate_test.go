package endpoint

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// answering opens a server that lists one model and answers every question with h.
func answering(t *testing.T, h http.HandlerFunc) Endpoint {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case modelsPath:
			_, _ = fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		case chatPath:
			h(w, r)
		default:
			http.NotFound(w, r)
		}
	}, false)
	ep, err := Open(t.Context(), mustTarget(t, s.URL), Options{Limits: quick()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	return ep
}

// What a server answers decides what may be said of its abilities: only a refusal is one.
func TestFate(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]Fate{
		400: Declined, 404: Declined, 405: Declined, 413: Declined, 415: Declined, 422: Declined, 501: Declined,
		429: TurnedAway, 503: TurnedAway,
		401: Broken, 408: Broken, 500: Broken, 502: Broken, 504: Broken, 599: Broken,
	} {
		ep := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, `{"error":{"message":"no"}}`)
		})
		if _, err := ep.Ask(t.Context(), Chat("Hello")); FateOf(err) != want {
			t.Errorf("status %d: %d, want %d (%v)", status, FateOf(err), want, err)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"cut off":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") },
		"error said": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"error":{"message":"no"}}`) },
	} {
		if err := answering(t, h).Complete(t.Context(), Chat("Hello")).Err(); FateOf(err) != Broken {
			t.Errorf("%s: %d (%v)", name, FateOf(err), err)
		}
	}
	if got := FateOf(nil); got != Answered {
		t.Errorf("no error: %d", got)
	}
	if got := FateOf(errors.New("of another kind")); got != Broken {
		t.Errorf("another error: %d", got)
	}
}
