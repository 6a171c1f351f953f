package baseline

import (
	"math"
	"slices"
	"time"

	"infbench/record"
)

// timesByDepth holds the times of a metric by depth, and within one by repeat.
type timesByDepth struct {
	depths []float64 // tokens of context
	times  [][]float64
}

// series sorts what a record holds by metric. Repeats whose request failed are left out
// everywhere, so that a repeat is whole or absent.
func series(b record.Baseline) map[string]timesByDepth {
	out := map[string]timesByDepth{}
	whole := -1
	for _, c := range b.Measured {
		if whole < 0 || len(c.Repeats) < whole {
			whole = len(c.Repeats)
		}
	}
	var keep []int
	for i := range max(0, whole) {
		if !slices.ContainsFunc(b.Measured, func(c record.CellRepeats) bool { return !c.Repeats[i].Good || c.Repeats[i].TTFT <= 0 }) {
			keep = append(keep, i)
		}
	}
	for _, c := range b.Measured {
		prefill := ColdPrefill
		if c.Warm {
			prefill = WarmPrefill
		}
		var ttft, tpot []float64
		for _, i := range keep {
			ttft = append(ttft, c.Repeats[i].TTFT.Seconds())
			if d := c.Repeats[i].TPOT; d > 0 {
				tpot = append(tpot, d.Seconds())
			}
		}
		add := func(name string, depth float64, times []float64) {
			if len(times) == len(keep) && len(times) > 0 {
				s := out[name]
				s.depths, s.times = append(s.depths, depth), append(s.times, times)
				out[name] = s
			}
		}
		add(prefill, float64(c.TrueTokens), ttft)
		if !c.Warm { // the same tokens come after a warm prompt: one of the two is enough
			add(Generation, float64(c.TrueTokens)+float64(c.MaxTokens)/2, tpot)
		}
	}
	return out
}

// common leaves the depths that both sides have: one whose answers ended too early to have a
// time per token would else stand against another depth.
func common(b, a timesByDepth) (before, after timesByDepth) {
	for i, d := range b.depths {
		if j := slices.Index(a.depths, d); j >= 0 {
			before.depths, before.times = append(before.depths, d), append(before.times, b.times[i])
			after.depths, after.times = append(after.depths, d), append(after.times, a.times[j])
		}
	}
	return before, after
}

// repeats returns the geometric mean over the depths of each repeat.
func (t timesByDepth) repeats() []float64 {
	if len(t.times) == 0 {
		return nil
	}
	var out []float64
	for i := range t.times[0] {
		sum := 0.0
		for _, d := range t.times {
			sum += math.Log(d[i])
		}
		out = append(out, sum/float64(len(t.times)))
	}
	return out
}

// points returns the times as points over thousands of tokens.
func (t timesByDepth) points() (x, y []float64) {
	for i, d := range t.depths {
		for _, v := range t.times[i] {
			x, y = append(x, d/1000), append(y, v)
		}
	}
	return x, y
}

func durations(logs []float64) []time.Duration {
	var out []time.Duration
	for _, v := range logs {
		out = append(out, seconds(math.Exp(v)))
	}
	return out
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// weights are the inverse squares of the means at each depth.
func weights(t timesByDepth) []float64 {
	var out []float64
	for _, times := range t.times {
		mean := 0.0
		for _, v := range times {
			mean += v / float64(len(times))
		}
		for range times {
			out = append(out, 1/(mean*mean))
		}
	}
	return out
}
