package baseline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"infbench/internal/stat"
	"infbench/record"
)

// Verdict is what is said about one metric.
type Verdict string

// The verdicts.
const (
	Faster     Verdict = "faster"
	Slower     Verdict = "slower"
	NoChange   Verdict = "no detectable change"
	CannotTell Verdict = "cannot tell"
)

// The metrics. Each is compared over all depths at once: of a repeat's times the geometric
// mean, so that a long prompt counts as much as a short one.
const (
	ColdPrefill = "cold prefill"
	WarmPrefill = "warm prefill"
	Generation  = "token generation"
)

// falseRate is the rate of false alarms that a comparison is held to over its metrics.
const falseRate = 0.05

// leastRepeats is the number of good repeats a side below which nothing can be told: with
// three against three the smallest p is 10 %.
const leastRepeats = 4

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

// Attribution is what a change of a line is made of.
type Attribution struct {
	// Part is "per-token cost", "fixed overhead", "fixed overhead and per-token cost",
	// "changed, cannot attribute" or "".
	Part string
	// Offset is the change of the fixed overhead, PerThousand that of the cost of 1,000 tokens of
	// context, each with its 95 % interval; At is the depth in the middle of the suite, and the
	// last two what each of them comes to there.
	Offset, PerThousand     Interval
	At                      int
	OffsetThere, SlopeThere time.Duration
	// Extrapolated says that no depth is shallow enough to see the fixed overhead itself.
	Extrapolated bool
}

// Interval is a time with its 95 % interval.
type Interval struct{ Value, Low, High time.Duration }

// Line is the time against context of one side.
type Line struct {
	Overhead, PerThousand Interval
	// Robust is the slope by Theil and Sen.
	Robust time.Duration
	// Curved says that a straight line does not hold the depths; it is known from four on.
	Curved, CurveKnown bool
}

// Comparison is what came of two records. Where Refused is not empty there is nothing else.
type Comparison struct {
	Refused []Refusal
	Changes []string
	Metrics []Metric
	Repeats [2]int
	Lines   map[string][2]Line
}

// Compare compares two records: it refuses with every reason at once, or tells what changed.
// stated names unknown parts that a person knows to be the same, see [Statable].
func Compare(before, after Side, stated ...string) Comparison {
	if r := refusals(before, after, stated); len(r) > 0 {
		return Comparison{Refused: r}
	}
	b, a := series(before.data), series(after.data)
	uncounted := before.perf.Workload().TokenSource == record.ChunkCount
	if uncounted {
		delete(b, Generation)
		delete(a, Generation)
	}
	c := compareTimes(b, a)
	if uncounted && len(c.Metrics) > 0 {
		c.Metrics = append(c.Metrics, Metric{Name: Generation, Verdict: CannotTell, Why: "nobody counted the tokens of the answers: a time per chunk is none per token"})
	}
	c.Changes = changes(before, after)
	return c
}

// compareTimes compares what was measured, about the same thing.
func compareTimes(b, a map[string]timesByDepth) Comparison {
	c := Comparison{Lines: map[string][2]Line{}}
	for _, name := range []string{ColdPrefill, WarmPrefill, Generation} {
		if len(b[name].depths) == 0 && len(a[name].depths) == 0 {
			continue
		}
		if len(b[name].depths) > 0 && len(a[name].depths) > 0 {
			b[name], a[name] = common(b[name], a[name])
		}
		c.Metrics = append(c.Metrics, measure(name, b[name], a[name]))
		lb, okB := b[name].line()
		la, okA := a[name].line()
		if okB && okA {
			c.Lines[name] = [2]Line{lb, la}
		}
	}
	for _, m := range c.Metrics {
		c.Repeats[0], c.Repeats[1] = max(c.Repeats[0], len(m.Before)), max(c.Repeats[1], len(m.After))
	}
	c.decide(b, a)
	return c
}

// decide gives the verdicts: a change is one that the rank test finds among the metrics at
// the stated rate, and that is larger than the noise of the repeats.
func (c *Comparison) decide(b, a map[string]timesByDepth) {
	var p []float64
	var which []int
	for i, m := range c.Metrics {
		if m.Verdict == "" {
			p, which = append(p, m.P), append(which, i)
		}
	}
	found := stat.Discoveries(p, falseRate)
	for k, i := range which {
		m := &c.Metrics[i]
		switch {
		case !found[k] && stat.SmallestP(len(m.Before), len(m.After)) > falseRate/float64(len(p)) && m.P <= falseRate:
			m.Verdict, m.Why = CannotTell, fmt.Sprintf("p = %.3g, and with %d metrics and so few repeats that may be chance: more repeats tell (--repeats)", m.P, len(p))
		case !found[k]:
			m.Verdict, m.Why = NoChange, fmt.Sprintf("p = %.3g; a change of %.1f %% would have shown four times in five", m.P, 100*m.Smallest)
		// On logarithms, as they were measured: else a change and its way back would not be alike.
		case math.Abs(math.Log1p(m.Change)) <= math.Log1p(m.Band):
			m.Verdict, m.Why = NoChange, fmt.Sprintf("p = %.3g, but what moved is within the repeats' own noise of %.1f %%", m.P, 100*m.Band)
		case m.Change < 0:
			m.Verdict, m.Why = Faster, fmt.Sprintf("p = %.3g, beyond the repeats' own noise of %.1f %%", m.P, 100*m.Band)
		default:
			m.Verdict, m.Why = Slower, fmt.Sprintf("p = %.3g, beyond the repeats' own noise of %.1f %%", m.P, 100*m.Band)
		}
		if m.Verdict == Faster || m.Verdict == Slower {
			m.Part = attribute(b[m.Name], a[m.Name])
		}
	}
}

// Exit is the exit code: 0 no regression, 1 something could not be told, 2 a regression or a
// refusal.
func (c Comparison) Exit() int {
	if len(c.Refused) > 0 {
		return 2
	}
	code := 0
	for _, m := range c.Metrics {
		switch m.Verdict {
		case Slower:
			return 2
		case CannotTell:
			code = 1
		case Faster, NoChange:
		}
	}
	if len(c.Metrics) == 0 {
		return 1
	}
	return code
}

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
		if by := math.Expm1(logs[i] - median(logs)); math.Abs(by) > worthTelling {
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
	c := CellChange{PromptTokens: tokens, Before: seconds(median(before)), After: seconds(median(after)), P: 1, Low: math.Inf(-1), High: math.Inf(1)}
	if s, err := stat.HodgesLehmann(b, a); err == nil {
		c.Change, c.Low, c.High, c.Coverage = math.Expm1(s.Value), math.Expm1(s.Low), math.Expm1(s.High), s.Coverage
	}
	if t, err := stat.MannWhitney(b, a); err == nil {
		c.P = t.P
	}
	return c
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// shallow is the depth up to which a fixed overhead is seen rather than extrapolated.
const shallow = 256

// attribute tells what the change of a line is made of: the term that its test finds, and of
// two the larger one at the depths that were measured.
func attribute(before, after timesByDepth) Attribution {
	x1, y1 := before.points()
	x2, y2 := after.points()
	// Times scatter in proportion to themselves: a long prompt must not drown what is fixed.
	c, err := stat.CompareLines(stat.Points{X: x1, Y: y1, W: weights(before)}, stat.Points{X: x2, Y: y2, W: weights(after)})
	if err != nil {
		return Attribution{}
	}
	at := before.depths[len(before.depths)/2]
	out := Attribution{
		Offset: interval(c.Offset), PerThousand: interval(c.Slope), At: int(at),
		OffsetThere: seconds(c.Offset.Value), SlopeThere: seconds(c.Slope.Value * at / 1000), Extrapolated: before.depths[0] > 2*shallow,
	}
	offset, slope := c.OffsetP <= falseRate, c.SlopeP <= falseRate
	switch {
	case offset && slope:
		large, small := math.Abs(float64(out.OffsetThere)), math.Abs(float64(out.SlopeThere))
		out.Part = "fixed overhead, and per-token cost"
		if small > large {
			out.Part = "per-token cost, and fixed overhead"
			large, small = small, large
		}
		if small*10 < large { // a line that bends fires both tests for the change of one
			out.Part, _, _ = strings.Cut(out.Part, ",")
		}
	case slope:
		out.Part = "per-token cost"
	case offset:
		out.Part = "fixed overhead"
	case c.FP <= falseRate:
		out.Part = "changed, cannot attribute"
	}
	return out
}

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

func interval(t stat.Term) Interval {
	return Interval{seconds(t.Value), seconds(t.Low), seconds(t.High)}
}
