package smoke_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"
	"infbench/stages/smoke"
)

// A request that breaks is no missing ability, and one that was turned away was not examined:
// neither may pass. The engine is healthy but for the requests that hold some words.
func TestWhatBreaksIsNoLackOfAbility(t *testing.T) {
	t.Parallel()
	const cuda = `{"error":{"message":"CUDA error: an illegal memory access was encountered"}}`
	for _, c := range []struct {
		check, engine string
		path, holds   string // of the requests that end otherwise
		status        int
		body          string
		want          gates.Status
	}{
		{"smoke/thinking-off", "thinks", "", `"enable_thinking":false`, 500, cuda, gates.Failed},
		{"smoke/thinking-off", "thinks", "", `"enable_thinking":false`, 400, `{"error":{"message":"enable_thinking is not known"}}`, gates.Passed},
		{"smoke/template-tokens", "", "/tokenize", "", 500, cuda, gates.Skipped},
		{"smoke/template-tokens", "", "/tokenize", "", 404, "{}", gates.NotApplicable},
		{"smoke/model-name", "", "", "no-such-model-51aa", 500, cuda, gates.Warned},
		{"smoke/model-name", "", "", "no-such-model-51aa", 503, `{"error":{"message":"no server of that name"}}`, gates.Warned},
		{"smoke/image", "", "", "image_url", 500, cuda, gates.Failed},
		{"smoke/image", "", "", "image_url", 500, `{"error":{"message":"image input is not supported - hint: provide the mmproj"}}`, gates.NotApplicable},
		{"smoke/image", "", "", "image_url", 501, "{}", gates.NotApplicable},
		{"smoke/structured", "", "", "$ref", 500, cuda, gates.Warned},
		{"smoke/structured", "", "", "$ref", 400, `{"error":{"message":"$ref is not known"}}`, gates.Passed},
		{"smoke/message-shapes", "", "", "call_00000001", 429, "{}", gates.Skipped},
		{"smoke/message-shapes", "", "", "call_00000001", 503, "{}", gates.Skipped},
		{"smoke/error-body", "", "", `"messages": "none"`, 429, `{"error":{"message":"too many"}}`, gates.Skipped},
		// A recursive reader is killed by some millions of these.
		{"smoke/error-body", "", "", `"messages": "none"`, 400, `{"message":"no","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}", gates.Warned},
	} {
		t.Run(strings.ReplaceAll(c.check, "/", ".")+"/"+http.StatusText(c.status), func(t *testing.T) {
			t.Parallel()
			up := endpointtest.Handler(t, &txtar.Archive{Comment: []byte("engine: " + c.engine)})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(b))
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, c.path) && bytes.Contains(b, []byte(c.holds)) {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
					return
				}
				up.ServeHTTP(w, r)
			}))
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			target, err := endpoint.ParseTarget(s.URL, endpoint.TargetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ep, err := endpoint.Open(t.Context(), target, endpoint.Options{InFlight: 4, Seed: 1, Limits: endpointtest.Limits()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(ep.Close)
			list := smoke.Checks()
			check := list[slices.IndexFunc(list, func(k gates.Check[endpoint.Endpoint]) bool { return k.ID == c.check })]
			if v := gates.Run(t.Context(), check, ep); v.Status() != c.want {
				t.Errorf("%s, want %s: %s\n%s", v.Status(), c.want, v.Summary(), strings.Join(v.Evidence(), "\n"))
			}
		})
	}
}
