package refengine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"infbench/internal/refengine"
)

// A sink is a client that reads as fast as it is written to.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(b []byte) (int, error) { return len(b), nil }
func (s sink) WriteHeader(int)             {}
func (s sink) Flush()                      {}

// BenchmarkStreams measures the processor time of a streamed token, HTTP left out.
func BenchmarkStreams(b *testing.B) {
	c := refengine.Config{KVBlocks: 1 << 16}
	c.Cost.Base = 1000
	e := engine(b, c)
	const streams, tokens = 128, 500
	b.ReportAllocs()
	for b.Loop() {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, chat, strings.NewReader(body("Write a story.", `"stream":true,"ignore_eos":true,"max_tokens":500`)))
				e.ServeHTTP(sink{http.Header{}}, r)
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*streams*tokens), "ns/token")
}
