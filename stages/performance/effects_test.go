package performance

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"infbench/internal/batching"
	"infbench/internal/refengine"
	"infbench/record"
)

// onVirtualTime measures the embedded engine on a clock that stands still while anybody
// computes: what the machine does meanwhile is in no figure.
func onVirtualTime(t *testing.T, engine refengine.Config, c Config, arrivals ...string) (record.PerfRecord, []refengine.Truth, *Sweep) {
	t.Helper()
	ep, e := onVirtual(t, engine)
	s, err := Measure(t.Context(), ep, proof(t), sweepOf(t, arrivals...), c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return perfOf(t, s), e.Truths(), s
}

func value(t *testing.T, what string, e record.Estimate) time.Duration {
	t.Helper()
	v, ok := e.Value()
	if !ok {
		t.Fatalf("%s is withheld: %s", what, e.Withheld())
	}
	return v
}

func perSecond(t *testing.T, what string, r record.Rate) float64 {
	t.Helper()
	v, ok := r.PerSecond()
	if !ok {
		t.Fatalf("%s is withheld: %s", what, r.Withheld())
	}
	return v
}

// The same sixteen people, all at once or one after another as they think: two benchmarks that
// both say "concurrency 16" differ fourfold in TTFT.
func TestAllAtOnceAgainstSessionsThatThink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Config{PromptTokens: 2000, OutputTokens: 64, PerLevel: 2 * time.Minute, Seed: 1, Grace: time.Second}
		perf, _, _ := onVirtualTime(t, refengine.Config{}, c, "burst:n=16", "sessions:n=16,think=5s")
		l := perf.Levels()
		burst, think := value(t, "TTFT of the burst", l[0].Figures.TTFT.P50()), value(t, "TTFT of the sessions", l[1].Figures.TTFT.P50())
		if burst < 4*think {
			t.Errorf("TTFT %v all at once, %v with think time: less than 4 times", burst, think)
		}
		if in := l[1].Figures.InFlightMean; in > 2 {
			t.Errorf("%.2f of 16 thinking sessions are in flight on average", in)
		}
	})
}

// Where each token attends to 32,768 others for as long as a step takes otherwise, decoding is
// half as fast there; a number without its depth would be either.
func TestDecodeIsHalvedAtDepth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cost := batching.Cost{Base: 2 * time.Millisecond, PerPrefillToken: 16_000, PerSequence: 48_000, PerKVToken: 62.5} // 32,768 × 62.5 ns = 2.048 ms
		c := Config{PromptTokens: 64, OutputTokens: 32, PerLevel: time.Second, Depths: []int{512, 8192, 16384, 32768}, Seed: 1, Grace: time.Second}
		perf, _, _ := onVirtualTime(t, refengine.Config{ContextLength: 65536, Cost: cost}, c, "sessions:n=1")
		ladder := perf.Ladder()
		if len(ladder.Rungs) != 4 {
			t.Fatalf("%d rungs, left out: %v", len(ladder.Rungs), ladder.Left)
		}
		for _, r := range ladder.Rungs {
			d := r.Figures.Decode
			step := cost.Base.Seconds() + cost.PerSequence/1e9 + cost.PerKVToken*float64(d.DepthTokens)/1e9
			if got := perSecond(t, "decode", d.Rate); got < 0.999/step || got > 1.001/step {
				t.Errorf("depth %d: %.2f tok/s, the price list says %.2f", d.DepthTokens, got, 1/step)
			}
		}
		first, last := ladder.Rungs[0].Figures.Decode, ladder.Rungs[3].Figures.Decode
		if r := perSecond(t, "decode", last.Rate) / perSecond(t, "decode", first.Rate); r < 0.47 || r > 0.55 {
			t.Errorf("at depth %d decoding has %.2f of the rate at %d", last.DepthTokens, r, first.DepthTokens)
		}
		fit := ladder.Fit
		if fit.Withheld() != "" {
			t.Fatal(fit.Withheld())
		}
		near := func(what string, got, want time.Duration) {
			if got < want*998/1000 || got > want*1002/1000 {
				t.Errorf("%s %v, the price list says %v", what, got, want)
			}
		}
		near("slope per 1,000 tokens", fit.PerThousand.Value, 62500)
		near("Theil–Sen", fit.Robust, 62500)
		near("TPOT at depth 0", fit.Base.Value, cost.Base+48*time.Microsecond)
	})
}

// At a high hit rate the nominal prefill rate is many times what the engine computes.
func TestNominalPrefillOfCachedPrompts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Config{OutputTokens: 64, PerLevel: 10 * time.Second, Seed: 1, Grace: time.Second}
		perf, _, s := onVirtualTime(t, refengine.Config{}, c, "sessions:n=1")
		f := perf.Levels()[0].Figures
		nominal, computed := perSecond(t, "nominal prefill", f.PrefillNominal), perSecond(t, "computed prefill", f.PrefillComputed)
		if nominal < 10*computed {
			t.Errorf("nominal %.0f, computed %.0f: less than 10 times", nominal, computed)
		}
		if share := s.levels[0].cachedShare; share < 0.95 || share > 0.98 {
			t.Errorf("%.3f of the prompt tokens came from the cache, 0.973 were recorded at full size", share)
		}
	})
}

// What the record says is what the engine's own log says, to the microsecond: TTFT, TPOT,
// tokens, cache hits and requests in flight.
func TestFiguresAreThoseOfTheEnginesLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Config{PromptTokens: 500, OutputTokens: 40, PerLevel: 20 * time.Second, Seed: 1, Grace: time.Second}
		perf, truths, s := onVirtualTime(t, refengine.Config{}, c, "sessions:n=4,think=500ms")
		// The two probes of the workload come first; the first request of each session is warm-up.
		truths = truths[len(truths)-s.levels[0].issued:]
		var ttft, tpot []time.Duration
		end := truths[len(truths)-1].End
		for _, tr := range truths {
			end = max(end, tr.End)
		}
		measured := s.levels[0].measuredFor
		var busy time.Duration
		for _, tr := range truths {
			busy += max(0, tr.End-max(tr.Arrival, end-measured))
		}
		for i, tr := range truths {
			if i < 4 || tr.OutputTokens != 40 {
				continue
			}
			ttft = append(ttft, tr.FirstToken-tr.Arrival)
			tpot = append(tpot, (tr.LastToken-tr.FirstToken)/39)
		}
		f := perf.Levels()[0].Figures
		for _, k := range []struct {
			what string
			got  record.Estimate
			log  []time.Duration
		}{{"TTFT", f.TTFT.P50(), ttft}, {"TPOT", f.TPOT.P50(), tpot}} {
			got, want := value(t, k.what, k.got), medianOf(k.log)
			if d := (got - want).Abs(); d > want/50 {
				t.Errorf("%s p50 %v, the engine's log says %v", k.what, got, want)
			}
		}
		if want := busy.Seconds() / measured.Seconds(); f.InFlightMean < want*0.99 || f.InFlightMean > want*1.01 {
			t.Errorf("%.3f in flight, the engine's log says %.3f", f.InFlightMean, want)
		}
		if n := f.PromptTokens.Or(0); n != truths[5].PromptTokens && (n < 450 || n > 550) {
			t.Errorf("prompts of %d tokens, the engine's log says %d", n, truths[5].PromptTokens)
		}
	})
}

func medianOf(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[(len(s)+1)/2-1]
}

// Goodput is the requests that the engine's log holds within the limits, over the time from
// its first counted arrival to its last end.
func TestGoodputIsThatOfTheEnginesLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Config{PromptTokens: 500, OutputTokens: 40, PerLevel: 20 * time.Second, Seed: 1, Grace: time.Second}
		perf, truths, s := onVirtualTime(t, refengine.Config{}, c, "sessions:n=6,think=200ms")
		truths = truths[len(truths)-s.levels[0].issued:]
		slices.SortFunc(truths, func(a, b refengine.Truth) int { return int(a.Arrival - b.Arrival) })
		var ttft []time.Duration
		for _, tr := range truths {
			ttft = append(ttft, tr.FirstToken-tr.Arrival)
		}
		limit := medianOf(ttft) + 50*time.Microsecond // so that about half of them miss it
		tier, err := record.NewTier("mine", limit, time.Second, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := perf.Against(tier).Levels[0]
		measured := truths[len(truths)-a.Issued:]
		good, tokens, end := 0, 0, time.Duration(0)
		for _, tr := range measured {
			end = max(end, tr.End)
			if tr.FirstToken-tr.Arrival <= limit {
				good++
				tokens += tr.OutputTokens
			}
		}
		if good == 0 || good == len(measured) {
			t.Fatalf("%d of %d within the limit: the limit tells nothing apart", good, len(measured))
		}
		requests, perSecond, ok := a.Goodput.PerSecond()
		if !ok {
			t.Fatal(a.Goodput.Withheld())
		}
		window := (end - measured[0].Arrival).Seconds()
		for what, v := range map[string][2]float64{"good requests": {float64(a.Good.Or(0)), float64(good)}, "requests/s": {requests, float64(good) / window}, "tokens/s": {perSecond, float64(tokens) / window}} {
			if v[0] < 0.99*v[1] || v[0] > 1.01*v[1] {
				t.Errorf("%s: %.3f, the engine's log says %.3f", what, v[0], v[1])
			}
		}
	})
}
