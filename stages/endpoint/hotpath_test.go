package endpoint

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// Nothing is allocated for a token: an answer of 4,000 tokens costs as many allocations as
// one of 1,000, but for the few times that its text outgrows its room.
func TestATokenAllocatesNothing(t *testing.T) { // not parallel: allocations are counted over all goroutines
	for _, running := range []bool{false, true} {
		allocations := func(tokens int) float64 {
			body := vllmStream(tokens, running)
			c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: DefaultLimits(), http: tripper(func(*http.Request) (*http.Response, error) {
				return eventStream(io.NopCloser(bytes.NewReader(body))), nil
			})}
			return testing.AllocsPerRun(20, func() {
				if a := c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true, maxTokens: tokens}); a.Failure != nil || len(a.Timing.Marks) != tokens {
					t.Fatal(a.Failure, len(a.Timing.Marks))
				}
			})
		}
		short, long := allocations(1000), allocations(4000)
		if long-short > 8 {
			t.Errorf("running usage %v: 1,000 tokens take %.0f allocations, 4,000 take %.0f", running, short, long)
		}
	}
}
