package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"infbench/internal/stat"
)

// Interactivity is how one level feels at its slow end: the 99th percentiles of TTFT and
// TPOT over its good answers, each with the bound that they are below of with 95 %, and a
// score for skimming.
type Interactivity struct {
	TTFT, TPOT Bounded
	Score      Score
}

// Bounded is a 99th percentile and its one-sided upper bound at 95 %. A sample of 100 has
// the first, one of 299 the second.
type Bounded struct{ P99, Upper Estimate }

// Score is an [InteractivityScore], or withheld with the reason. It is for skimming one
// record and never for ranking several: it knows no load, no tail beyond p99 and no
// correctness.
type Score struct {
	value    float64
	withheld string
}

// Value returns the score; ok is false when it is withheld.
func (s Score) Value() (v float64, ok bool) { return s.value, s.withheld == "" }

// Withheld returns why there is no score.
func (s Score) Withheld() string { return s.withheld }

// String returns the score, or a dash and the reason.
func (s Score) String() string {
	if v, ok := s.Value(); ok {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return "— (" + s.withheld + ")"
}

// InteractivityScore is 100 where both times are so short that shorter is not felt (0.2 s and
// 10 ms) and 0 where one of them is unusable (10 s, 200 ms): the geometric mean of the two,
// each on a scale of ratios.
func InteractivityScore(ttft, tpot time.Duration) float64 {
	felt := func(d, best, worst time.Duration) float64 {
		d = min(max(d, best), worst)
		return math.Log(float64(worst)/float64(d)) / math.Log(float64(worst)/float64(best))
	}
	return 100 * math.Sqrt(felt(ttft, 200*time.Millisecond, 10*time.Second)*felt(tpot, 10*time.Millisecond, 200*time.Millisecond))
}

func (l Level) interactivity() Interactivity {
	i := Interactivity{TTFT: Bounded{P99: l.figures.TTFT.P99()}, TPOT: Bounded{P99: l.figures.TPOT.P99()}}
	var ttfts, tpots []time.Duration
	for _, s := range l.samples {
		if s.Warmup || s.Outcome != OK {
			continue
		}
		ttfts = append(ttfts, s.First-began(s, l.arrival.Open()))
		if d, ok := tpot(s); ok {
			tpots = append(tpots, d)
		}
	}
	i.TTFT.Upper, i.TPOT.Upper = upper(i.TTFT.P99, ttfts), upper(i.TPOT.P99, tpots)
	a, okA := i.TTFT.P99.Value()
	b, okB := i.TPOT.P99.Value()
	switch {
	case !okA:
		i.Score.withheld = "TTFT: " + i.TTFT.P99.Withheld()
	case !okB:
		i.Score.withheld = "TPOT: " + i.TPOT.P99.Withheld()
	default:
		i.Score.value = rounded(InteractivityScore(a, b), 2)
	}
	return i
}

// upper bounds the 99th percentile of values, where there is one.
func upper(p99 Estimate, values []time.Duration) Estimate {
	if p99.Withheld() != "" {
		return p99
	}
	rank, ok := stat.UpperRank(len(values), attainedPart, boundAt)
	if !ok {
		needed, _ := stat.LeastTrials(0, attainedPart, boundAt)
		return Estimate{withheld: fmt.Sprintf("n=%d, a bound of p99 needs %d", len(values), needed)}
	}
	slices.Sort(values)
	return Estimate{value: values[rank-1]}
}
