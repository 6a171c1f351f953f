package refengine

import (
	"sync"
	"time"
)

// meters are what /metrics tells, under vLLM's names and with its habits: token
// counters move as tokens appear, phase histograms fill when a request ends, and
// the prompt counter includes cached tokens.
type meters struct {
	mu        sync.Mutex
	prompt    int
	cached    int
	generated int
	finishes  map[string]int
	ttft      histogram
	itl       histogram
	e2e       histogram
	queue     histogram
	prefill   histogram
	decode    histogram
	inference histogram
	tpot      histogram
	lengths   struct{ prompt, generated, computed histogram } // in tokens, of finished requests
}

var (
	ttftBounds  = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBounds   = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	tokenBounds = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
	longBounds  = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

func newMeters() *meters {
	m := &meters{
		finishes: map[string]int{"stop": 0, "length": 0, "abort": 0},
		ttft:     newHistogram(ttftBounds), itl: newHistogram(itlBounds),
		e2e: newHistogram(longBounds), queue: newHistogram(longBounds),
		prefill: newHistogram(longBounds), decode: newHistogram(longBounds), inference: newHistogram(longBounds), tpot: newHistogram(itlBounds),
	}
	m.lengths.prompt, m.lengths.generated, m.lengths.computed = newHistogram(tokenBounds), newHistogram(tokenBounds), newHistogram(tokenBounds)
	return m
}

type histogram struct {
	bounds []float64
	counts []int // one more than bounds: the last is +Inf; not cumulative
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
}

func (h *histogram) observe(d time.Duration) { h.add(d.Seconds()) }

func (h *histogram) add(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += v
}

// first counts a prompt whose first output token exists.
func (m *meters) first(prompt, cached int, ttft time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompt += prompt
	m.cached += cached
	m.ttft.observe(ttft)
}

// tokens counts new output tokens and the gaps before each of them but the first.
func (m *meters) tokens(n int, gaps []time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generated += n
	for _, g := range gaps {
		m.itl.observe(g)
	}
}

// finished fills the phase histograms. A request given up counts as an abort only,
// as far as its phases are not complete.
func (m *meters) finished(t *Truth, lastDue time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason := t.FinishReason
	if reason == "tool_calls" {
		reason = "stop" // to the engine it is one; the front end names it differently
	}
	m.finishes[reason]++
	if reason == "abort" {
		return
	}
	m.e2e.observe(lastDue - t.Arrival)
	m.queue.observe(t.Queue)
	m.prefill.observe(t.FirstDue - t.Arrival - t.Queue)
	m.decode.observe(lastDue - t.FirstDue)
	m.inference.observe(lastDue - t.Arrival - t.Queue)
	if t.OutputTokens > 1 {
		m.tpot.observe((lastDue - t.FirstDue) / time.Duration(t.OutputTokens-1))
	}
	m.lengths.prompt.add(float64(t.PromptTokens))
	m.lengths.generated.add(float64(t.OutputTokens))
	m.lengths.computed.add(float64(t.PromptTokens - t.CachedTokens))
}
