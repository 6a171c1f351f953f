package faultproxy_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The delay is a line through the server's start, on a clock that stands still otherwise.
func TestSlowerWithAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := proxy(t, fake{}, "slower-with-age:per-hour=600ms")
		for _, age := range []time.Duration{0, 30 * time.Minute, 3 * time.Hour} {
			time.Sleep(age)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(chatBody(question, true, "")))
			start := time.Now()
			p.ServeHTTP(httptest.NewRecorder(), r)
			want := map[time.Duration]time.Duration{0: 0, 30 * time.Minute: 300 * time.Millisecond, 3 * time.Hour: 2100 * time.Millisecond}[age]
			// The answers before took time themselves, a ten thousandth of an hour.
			if got := time.Since(start); got < want || got > want+time.Millisecond {
				t.Errorf("after %v more: took %v, want %v", age, got, want)
			}
		}
	})
}

func TestMemoryGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := proxy(t, fake{}, "memory-grows:mib=100,per-hour=10")
		for _, want := range []string{"104857600", "125829120"} { // 100 and 120 MiB
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			if page := w.Body.String(); strings.Count(page, "process_resident_memory_bytes") != 1 || !strings.HasSuffix(page, "\nprocess_resident_memory_bytes "+want+"\n") {
				t.Errorf("want %s:\n%s", want, page)
			}
			time.Sleep(2 * time.Hour)
		}
	})
}
