package baseline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"infbench/internal/stat"
)

// Tested says that there were repeats enough for a test: without it there is no change, no
// interval, no noise and no p.
func (m Metric) Tested() bool { return m.Coverage > 0 }

// Metric is one metric of both sides. Times are the repeats' geometric means over the depths;
// changes are relative: 0.05 is five per cent longer.
type Metric struct {
	Name          string
	Before, After []time.Duration
	Verdict       Verdict
	Why           string
	// Change is the Hodges–Lehmann shift of the logarithms, Low and High its interval with
	// Coverage; P is the exact one of Mann and Whitney.
	Change, Low, High, Coverage, P float64
	// Band is half of the wider side's range: what the repeats themselves scatter by.
	Band float64
	// Smallest is the least change that this comparison would have shown four times in five.
	Smallest float64
	// Cells are the depths one by one. They are descriptive: nothing is decided by them.
	Cells []CellChange
	// Part says what the change is made of, "" where there is none or it cannot be told.
	Part Attribution
	// FarOut names repeats that lie far from the others of their side. None is left out.
	FarOut []string
}

// CellChange is one depth of a metric.
type CellChange struct {
	PromptTokens  int
	Before, After time.Duration // medians
	Change        float64
	Low, High     float64
	Coverage, P   float64
}

func spread(v []float64) float64 { return slices.Max(v) - slices.Min(v) }

// measure compares a metric, all but its verdict, which hangs on the others too.
func measure(name string, before, after timesByDepth) Metric {
	b, a := before.repeats(), after.repeats()
	m := Metric{Name: name, Before: durations(b), After: durations(a), FarOut: append(farOut("before", b), farOut("after", a)...)}
	for i, d := range before.depths {
		if i < len(after.depths) {
			m.Cells = append(m.Cells, cellChange(int(d), before.times[i], after.times[i]))
		}
	}
	if len(b) < leastRepeats || len(a) < leastRepeats {
		m.Verdict, m.Why = CannotTell, fmt.Sprintf("%d good repeats before and %d after: with fewer than %d on a side no difference can be told from chance", len(b), len(a), leastRepeats)
		return m
	}
	test, err := stat.MannWhitney(b, a)
	if err != nil {
		m.Verdict, m.Why = CannotTell, err.Error()
		return m
	}
	shift, err := stat.HodgesLehmann(b, a)
	if err != nil {
		m.Verdict, m.Why = CannotTell, err.Error()
		return m
	}
	m.P = test.P
	m.Change, m.Low, m.High, m.Coverage = math.Expm1(shift.Value), math.Expm1(shift.Low), math.Expm1(shift.High), shift.Coverage
	m.Band = math.Expm1(max(spread(b), spread(a)) / 2)
	m.Smallest = math.Expm1(stat.Detectable(min(len(b), len(a))) * pooled(b, a))
	return m
}

// worthTelling is the least distance from the median, relative, of a repeat that is told.
const worthTelling = 0.05

// farOut names the repeats that lie far from the others of a side.
func farOut(side string, logs []float64) []string {
	var out []string
	for _, i := range stat.Outliers(logs) {
		if by := math.Expm1(logs[i] - stat.Median(logs)); math.Abs(by) > worthTelling {
			out = append(out, fmt.Sprintf("repeat %d %s lies %+.0f %% from the median of its side: it counts like the others", i+1, side, 100*by))
		}
	}
	return out
}

// pooled is the standard deviation within the sides.
func pooled(a, b []float64) float64 {
	squares, n := 0.0, 0
	for _, side := range [][]float64{a, b} {
		mean := 0.0
		for _, v := range side {
			mean += v / float64(len(side))
		}
		for _, v := range side {
			squares += (v - mean) * (v - mean)
		}
		n += len(side) - 1
	}
	return math.Sqrt(squares / float64(max(1, n)))
}

func cellChange(tokens int, before, after []float64) CellChange {
	logs := func(v []float64) []float64 {
		var out []float64
		for _, x := range v {
			out = append(out, math.Log(x))
		}
		return out
	}
	b, a := logs(before), logs(after)
	c := CellChange{PromptTokens: tokens, Before: seconds(stat.Median(before)), After: seconds(stat.Median(after)), P: 1, Low: math.Inf(-1), High: math.Inf(1)}
	if s, err := stat.HodgesLehmann(b, a); err == nil {
		c.Change, c.Low, c.High, c.Coverage = math.Expm1(s.Value), math.Expm1(s.Low), math.Expm1(s.High), s.Coverage
	}
	if t, err := stat.MannWhitney(b, a); err == nil {
		c.P = t.P
	}
	return c
}
