package refengine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"infbench/internal/batching"
	"infbench/internal/refengine"
)

// A stamped recorder notes when each event was flushed. It stands for a client.
type stamped struct {
	*httptest.ResponseRecorder
	start  time.Time
	at     []time.Duration
	cut    context.CancelFunc // called after the given number of flushes
	cutAt  int
	before int
}

func (s *stamped) Flush() {
	if strings.Contains(s.Body.String()[s.before:], `"content":"`) {
		s.at = append(s.at, time.Since(s.start))
	}
	s.before = s.Body.Len()
	if s.cut != nil && len(s.at) >= s.cutAt {
		s.cut()
	}
}

func send(ctx context.Context, e http.Handler, b string) *stamped {
	s := &stamped{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
	e.ServeHTTP(s, httptest.NewRequestWithContext(ctx, http.MethodPost, chat, strings.NewReader(b)))
	return s
}

// textOf makes a prompt whose rendering has about n tokens.
func textOf(n int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, " %s", strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(4)))
	}
	return b.String()
}

const forced = `"stream":true,"ignore_eos":true,"stream_options":{"include_usage":true},"max_tokens":`

func TestTimingOfOneRequestIsTheClosedForm(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 500, 2000, 5000} {
		synctest.Test(t, func(t *testing.T) {
			e := engine(t, refengine.Config{StepTokens: 1024})
			c := batching.DefaultCost()
			s := send(t.Context(), e, body(textOf(n, 1), forced+"20"))
			p := int(streamed(t, s.ResponseRecorder).usage.Get("prompt_tokens").Int())
			want := time.Duration(0)
			for done := 0; done < p; {
				chunk := min(1024, p-done)
				done += chunk
				want += c.Base + time.Duration(float64(chunk)*c.PerPrefillToken+float64(done)*c.PerKVToken)
			}
			// The first flush is the role; it goes out with the first token.
			if len(s.at) != 21 || s.at[0] != want || s.at[1] != want {
				t.Fatalf("prompt of %d: %d flushes, first token at %v, want %v", p, len(s.at), s.at[:2], want)
			}
			for k := 1; k < 20; k++ {
				want += c.Base + time.Duration(c.PerSequence+float64(p+k)*c.PerKVToken)
				if s.at[1+k] != want {
					t.Fatalf("prompt of %d, token %d at %v, want %v", p, k+1, s.at[1+k], want)
				}
			}
			tr := e.Truths()[0]
			if tr.FirstToken-tr.Arrival != s.at[1] || tr.LastToken-tr.Arrival != s.at[20] || tr.OutputTokens != 20 || tr.PromptTokens != p || tr.Queue != 0 {
				t.Errorf("truth %+v, client saw %v … %v", tr, s.at[1], s.at[20])
			}
		})
	}
}

func TestDefaultsAreAsDocumented(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refengine.Config{})
		s := send(t.Context(), e, body(textOf(490, 1), forced+"50"))
		if ttft := s.at[1]; ttft < 9*time.Millisecond || ttft > 11*time.Millisecond {
			t.Errorf("500 tokens take %v", ttft)
		}
		if itl := (s.at[50] - s.at[1]) / 49; itl < 1900*time.Microsecond || itl > 2100*time.Microsecond {
			t.Errorf("a token takes %v", itl)
		}
	})
}

func TestBatchSharesTheStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refengine.Config{})
		c := batching.DefaultCost()
		const k = 8
		got := make([]*stamped, k)
		var wg sync.WaitGroup
		for i := range k {
			wg.Go(func() { got[i] = send(t.Context(), e, body(textOf(100, uint64(i)), forced+"100")) })
		}
		wg.Wait()
		// Once all decode, a step is one base and eight sequences.
		for i, s := range got {
			gap := s.at[90] - s.at[89]
			low := c.Base + time.Duration(k*c.PerSequence)
			if gap < low || gap > low+time.Duration(k*400*c.PerKVToken) {
				t.Errorf("stream %d: gap %v, want a little over %v", i, gap, low)
			}
		}
	})
}

func TestQueueFullIs503(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refengine.Config{MaxRunning: 1, MaxQueue: 2})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { send(t.Context(), e, body("x", forced+"50")) })
			synctest.Wait()
		}
		w := post(t.Context(), e, chat, body("Reply with OK", ""))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !gjson.Get(w.Body.String(), "error.message").Exists() {
			t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
		}
		wg.Wait()
		if w := post(t.Context(), e, chat, body("Reply with OK", "")); w.Code != http.StatusOK {
			t.Errorf("after the load: %d", w.Code)
		}
		tr := e.Truths()
		if tr[2].Queue < 50*batching.DefaultCost().Base {
			t.Errorf("the third request queued for %v only", tr[2].Queue)
		}
	})
}

func TestDisconnectFreesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refengine.Config{MaxRunning: 1})
		ctx, cancel := context.WithCancel(t.Context())
		s := &stamped{ResponseRecorder: httptest.NewRecorder(), start: time.Now(), cut: cancel, cutAt: 5}
		e.ServeHTTP(s, httptest.NewRequestWithContext(ctx, http.MethodPost, chat, strings.NewReader(body("x", forced+"3000"))))
		m := scrape(t, e)
		if m["vllm:kv_cache_usage_perc"] != 0 || m["vllm:num_requests_running"] != 0 || m["vllm:request_success_total:abort"] != 1 {
			t.Errorf("after the disconnect: %v", m)
		}
		if tr := e.Truths()[0]; tr.FinishReason != "abort" || tr.OutputTokens > 6 {
			t.Errorf("truth %+v", tr)
		}
		// A client that goes away while it waits in the queue leaves no trace either.
		var wg sync.WaitGroup
		wg.Go(func() { send(t.Context(), e, body("x", forced+"50")) })
		synctest.Wait()
		gone, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer leave()
		send(gone, e, body("y", forced+"50"))
		if m := scrape(t, e); m["vllm:num_requests_waiting"] != 0 {
			t.Errorf("still waiting: %v", m["vllm:num_requests_waiting"])
		}
		wg.Wait()
	})
}

func TestPreemptionChangesNothingButTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		alone := engine(t, refengine.Config{})
		tight := engine(t, refengine.Config{ContextLength: 512, KVBlocks: 40})
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				b := body(textOf(60, uint64(i)), forced+"200")
				got, want := streamed(t, send(t.Context(), tight, b).ResponseRecorder), streamed(t, send(t.Context(), alone, b).ResponseRecorder)
				if got.text != want.text || got.usage.Get("completion_tokens").Int() != 200 {
					t.Errorf("request %d differs under preemption", i)
				}
			})
		}
		wg.Wait()
		if m := scrape(t, tight); m["vllm:num_preemptions_total"] == 0 || m["vllm:kv_cache_usage_perc"] != 0 {
			t.Errorf("preemptions %g, blocks held %g", m["vllm:num_preemptions_total"], m["vllm:kv_cache_usage_perc"])
		}
	})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, refengine.Config{})
		var wg sync.WaitGroup
		var s *stamped
		wg.Go(func() { s = send(t.Context(), e, body("x", forced+"5000")) })
		time.AfterFunc(100*time.Millisecond, func() { _ = e.Close() })
		wg.Wait()
		if b := s.Body.String(); !strings.Contains(b, `data: {"error":`) || !strings.HasSuffix(b, "data: [DONE]\n\n") {
			t.Errorf("the stream ends with %q", b[max(0, len(b)-200):])
		}
		if w := post(t.Context(), e, chat, body("x", "")); w.Code != http.StatusServiceUnavailable {
			t.Errorf("after Close: %d", w.Code)
		}
	})
}

func TestTruthLines(t *testing.T) {
	t.Parallel()
	var sink strings.Builder
	e := engine(t, refengine.Config{Truth: &sink})
	w := post(t.Context(), e, chat, body("Reply with OK", ""))
	_ = e.Close()
	var tr refengine.Truth
	if err := json.Unmarshal([]byte(sink.String()), &tr); err != nil {
		t.Fatalf("%v in %q", err, sink.String())
	}
	if id := gjson.Get(w.Body.String(), "id").Str; tr.ID != id || tr.FinishReason != "stop" || tr.OutputTokens != 2 || tr.DepthTokens == 0 {
		t.Errorf("response %s, truth %+v", id, tr)
	}
	if got := e.Truths(); len(got) != 1 || got[0] != tr {
		t.Errorf("Truths() = %+v, sink has %+v", got, tr)
	}
}
