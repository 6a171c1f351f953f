package refengine_test

import (
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/tidwall/gjson"

	"infbench/internal/refengine"
)

// sumsOf reads the sums of the histograms on the page.
func sumsOf(t *testing.T, e *refengine.Engine) map[string]time.Duration {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(get(t, e, "/metrics").Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]time.Duration{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				out[name] = time.Duration(math.Round(h.GetSampleSum() * 1e9))
			}
		}
	}
	return out
}

// The page's timers, and the times that each answer tells of itself, are those of the log.
func TestTimersAreTheTruth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refengine.Config{MaxRunning: 2, RequestMetrics: true})
		var wg sync.WaitGroup
		var mu sync.Mutex
		told := map[string]gjson.Result{}
		for i := range 5 {
			wg.Go(func() {
				w := send(t.Context(), e, body(textOf(200, uint64(i)), forced+"40")).ResponseRecorder
				id, m := lastMetrics(w)
				mu.Lock()
				defer mu.Unlock()
				told[id] = m
			})
		}
		wg.Wait()
		sums := sumsOf(t, e)
		var queue, prefill, decode, ttft, e2e time.Duration
		for _, tr := range e.Truths() {
			// Nothing is between a token and its bytes on this clock: last text is last token.
			queue += tr.Queue
			prefill += tr.FirstDue - tr.Arrival - tr.Queue
			decode += tr.LastToken - tr.FirstDue
			ttft += tr.FirstDue - tr.Arrival
			e2e += tr.LastToken - tr.Arrival
			m := told[tr.ID]
			for key, want := range map[string]time.Duration{"queue_time_ms": tr.Queue, "time_to_first_token_ms": tr.FirstDue - tr.Arrival - tr.Queue, "generation_time_ms": tr.LastToken - tr.FirstDue} {
				if got := time.Duration(math.Round(m.Get(key).Num * 1e6)); !m.Get(key).Exists() || got != want {
					t.Errorf("%s says %s %v, the log %v", tr.ID, key, got, want)
				}
			}
		}
		if queue == 0 {
			t.Error("nobody queued")
		}
		for name, want := range map[string]time.Duration{
			"vllm:request_queue_time_seconds": queue, "vllm:request_prefill_time_seconds": prefill, "vllm:request_decode_time_seconds": decode,
			"vllm:time_to_first_token_seconds": ttft, "vllm:e2e_request_latency_seconds": e2e, "vllm:request_inference_time_seconds": prefill + decode,
			"vllm:inter_token_latency_seconds": decode,
		} {
			if diff := sums[name] - want; diff < -time.Microsecond || diff > time.Microsecond { // sums of floats
				t.Errorf("%s: %v, the log has %v", name, sums[name], want)
			}
		}
	})
}

// lastMetrics returns the id of a streamed answer and the times that its last chunk tells.
func lastMetrics(w *httptest.ResponseRecorder) (id string, m gjson.Result) {
	for event := range strings.SplitSeq(w.Body.String(), "\n\n") {
		r := gjson.Parse(strings.TrimPrefix(event, "data: "))
		if r.Get("metrics").Exists() {
			return r.Get("id").Str, r.Get("metrics")
		}
	}
	return "", gjson.Result{}
}

func TestOwnTimesAreToldOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	e := fast(t)
	if w := post(t.Context(), e, chat, body("Reply with OK", "")); gjson.Get(w.Body.String(), "metrics").Exists() {
		t.Errorf("told: %s", w.Body)
	}
}
