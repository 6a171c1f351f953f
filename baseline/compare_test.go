package baseline_test

import (
	"math"
	"testing"
	"time"

	"infbench/baseline"
	"infbench/baseline/baselinetest"
	"infbench/record"
)

// times makes a cell's times out of those of each repeat, in milliseconds.
func times(byDepth map[int][]float64) func(baseline.Depth, bool, int) time.Duration {
	return func(d baseline.Depth, warm bool, repeat int) time.Duration {
		if warm {
			return baselinetest.Scattered(12*time.Millisecond, repeat)
		}
		v := byDepth[d.PromptTokens]
		return time.Duration(v[repeat%len(v)] * float64(time.Millisecond))
	}
}

func compared(t *testing.T, before, after func(*baselinetest.Parts)) baseline.Comparison {
	t.Helper()
	b, a := baselinetest.Standard(1), baselinetest.Standard(2)
	before(&b)
	after(&a)
	c := baseline.Compare(side(t, "a", b), side(t, "b", a))
	if len(c.Refused) > 0 {
		t.Fatalf("refused: %v", c.Refused)
	}
	return c
}

func metric(t *testing.T, c baseline.Comparison, name string) baseline.Metric {
	t.Helper()
	for _, m := range c.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %s in %v", name, c.Metrics)
	return baseline.Metric{}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func as(*baselinetest.Parts) {}

// Two rows of five numbers for which the rank test and Welch's t disagree: the rule was named in
// advance, and it says that nothing was shown. Change and interval were worked out elsewhere.
func TestTheRuleIsNamedInAdvance(t *testing.T) {
	t.Parallel()
	one := baseline.Depth{PromptTokens: 1024, MaxTokens: 16}
	row := func(v ...float64) func(*baselinetest.Parts) {
		return func(p *baselinetest.Parts) { p.Suite, p.TTFT = suite(5, one), times(map[int][]float64{1024: v}) }
	}
	c := compared(t, row(812, 805, 820, 809, 815), row(830, 826, 835, 811, 828))
	m := metric(t, c, baseline.ColdPrefill)
	if m.Verdict != baseline.NoChange || m.Part.Part != "" || c.Exit() != 0 {
		t.Errorf("%s (%s), exit %d", m.Verdict, m.Why, c.Exit())
	}
	near(t, "p", m.P, 0.055556, 1e-6)
	near(t, "the change", m.Change, 0.018405, 1e-6)
	near(t, "its lower bound", m.Low, -0.001232, 1e-6)
	near(t, "its upper bound", m.High, 0.031056, 1e-6)
	near(t, "the coverage", m.Coverage, 0.968254, 1e-6)
	near(t, "the noise", m.Band, 0.014689, 1e-6)
	// Ties: 6 of the 252 splits lie as far apart.
	c = compared(t, row(10, 10, 11, 12, 12), row(12, 13, 13, 14, 15))
	near(t, "p with ties", metric(t, c, baseline.ColdPrefill).P, 6.0/252, 1e-9)
}

// Prefill times of three depths before and after a change of what a token costs: fitted elsewhere,
// by weights 1/mean², and by Theil and Sen.
func TestAttributionOfPublishedTimes(t *testing.T) {
	t.Parallel()
	depths := []baseline.Depth{{PromptTokens: 8192, MaxTokens: 16}, {PromptTokens: 16384, MaxTokens: 16}, {PromptTokens: 32768, MaxTokens: 16}}
	rows := func(a, b, c []float64) func(*baselinetest.Parts) {
		return func(p *baselinetest.Parts) {
			p.Suite, p.TTFT = suite(5, depths...), times(map[int][]float64{8192: a, 16384: b, 32768: c})
		}
	}
	c := compared(t, rows([]float64{861, 855, 868, 859, 863}, []float64{1672, 1661, 1690, 1668, 1680}, []float64{3302, 3281, 3330, 3295, 3315}),
		rows([]float64{905, 897, 910, 902, 899}, []float64{1801, 1788, 1812, 1795, 1806}, []float64{3590, 3571, 3618, 3580, 3602}))
	m := metric(t, c, baseline.ColdPrefill)
	if m.Verdict != baseline.Slower || c.Exit() != 2 {
		t.Errorf("%s (%s), exit %d", m.Verdict, m.Why, c.Exit())
	}
	// The overhead seems to fall by some 39 ms, which is an extrapolation from 8k to 0; at the depths
	// that were measured the cost of a token comes to four times as much.
	if m.Part.Part != "per-token cost, and fixed overhead" || !m.Part.Extrapolated || m.Part.At != 16384 {
		t.Errorf("made of %+v", m.Part)
	}
	if m.Part.OffsetThere >= 0 || m.Part.SlopeThere < 3*(-m.Part.OffsetThere) {
		t.Errorf("at the middle depth: %v and %v", m.Part.OffsetThere, m.Part.SlopeThere)
	}
	line := c.Lines[baseline.ColdPrefill][0]
	near(t, "the fixed part", line.Overhead.Value.Seconds(), 0.046920, 1e-6)
	near(t, "the cost of 1,000 tokens", line.PerThousand.Value.Seconds(), 0.099379, 1e-6)
	near(t, "that of Theil and Sen", line.Robust.Seconds(), 0.099284, 1e-6)
	if line.CurveKnown {
		t.Error("three depths tell of a curve")
	}
}

func TestHalfAsFast(t *testing.T) {
	t.Parallel()
	slow := func(p *baselinetest.Parts) {
		was := p.TPOT
		p.TPOT = func(d baseline.Depth, warm bool, repeat int) time.Duration { return 2 * was(d, warm, repeat) }
	}
	c := compared(t, as, slow)
	m := metric(t, c, baseline.Generation)
	near(t, "the change", m.Change, 1, 1e-6)
	if m.Verdict != baseline.Slower || m.Part.Part != "fixed overhead" || c.Exit() != 2 {
		t.Errorf("%s, made of %q, exit %d", m.Verdict, m.Part.Part, c.Exit())
	}
	for _, name := range []string{baseline.ColdPrefill, baseline.WarmPrefill} {
		if m := metric(t, c, name); m.Verdict != baseline.NoChange || m.P != 1 {
			t.Errorf("%s, which has not changed, is %s", name, m.Verdict)
		}
	}
	c = compared(t, slow, as)
	if m := metric(t, c, baseline.Generation); m.Verdict != baseline.Faster || c.Exit() != 0 {
		t.Errorf("the way back: %s, exit %d", m.Verdict, c.Exit())
	}
}

// A change and its way back are told alike, however close to the noise.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	scaled := func(percent float64) func(*baselinetest.Parts) {
		return func(p *baselinetest.Parts) {
			was := p.TPOT
			p.TPOT = func(d baseline.Depth, warm bool, repeat int) time.Duration {
				return time.Duration(float64(was(d, warm, repeat)) * (1 + percent/100))
			}
		}
	}
	back := map[baseline.Verdict]baseline.Verdict{baseline.Slower: baseline.Faster, baseline.NoChange: baseline.NoChange, baseline.CannotTell: baseline.CannotTell}
	seen := map[baseline.Verdict]int{}
	for step := range 40 {
		there := metric(t, compared(t, as, scaled(float64(step)/10)), baseline.Generation)
		again := metric(t, compared(t, scaled(float64(step)/10), as), baseline.Generation)
		seen[there.Verdict]++
		if again.Verdict != back[there.Verdict] {
			t.Errorf("%.1f %%: %s, and back: %s", float64(step)/10, there.Verdict, again.Verdict)
		}
	}
	if seen[baseline.Slower] == 0 || seen[baseline.NoChange] == 0 {
		t.Errorf("the steps tell of one side only: %v", seen)
	}
}

func TestTooFewRepeats(t *testing.T) {
	t.Parallel()
	small := baselinetest.Small().Depths()
	repeats := func(n int, slower time.Duration) func(*baselinetest.Parts) {
		return func(p *baselinetest.Parts) {
			p.Suite = suite(n, small...)
			was := p.TPOT
			p.TPOT = func(d baseline.Depth, warm bool, repeat int) time.Duration { return slower * was(d, warm, repeat) }
		}
	}
	for n, want := range map[int]baseline.Verdict{3: baseline.CannotTell, 4: baseline.CannotTell, 5: baseline.Slower, 20: baseline.Slower, 50: baseline.Slower} {
		c := compared(t, repeats(n, 1), repeats(n, 2))
		m := metric(t, c, baseline.Generation)
		if m.Verdict != want || m.Tested() != (n > 3) {
			t.Errorf("%d repeats: %s (%s)", n, m.Verdict, m.Why)
		}
		if want == baseline.CannotTell && c.Exit() != 1 {
			t.Errorf("%d repeats: exit %d", n, c.Exit())
		}
	}
}

// A request that a full server turned away takes its whole repeat with it, on every depth.
func TestRepeatsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	away := func(n int) func(*baselinetest.Parts) {
		return func(p *baselinetest.Parts) {
			p.Outcome = func(d baseline.Depth, warm bool, repeat int) record.Outcome {
				if repeat < n && warm && d.PromptTokens == 128 {
					return record.Rejected
				}
				return record.OK
			}
		}
	}
	for n, want := range map[int]int{0: 5, 1: 4, 2: 3, 5: 0} {
		c := compared(t, as, away(n))
		if got := len(metric(t, c, baseline.ColdPrefill).After); got != want {
			t.Errorf("%d repeats with a refused request: %d are left, want %d", n, got, want)
		}
		if want < 4 && c.Exit() != 1 {
			t.Errorf("%d repeats left: exit %d", want, c.Exit())
		}
	}
	if c := compared(t, away(5), away(5)); len(c.Metrics) > 0 || c.Exit() != 1 {
		t.Errorf("nothing whole on both sides: %+v, exit %d", c.Metrics, c.Exit())
	}
}

// Answers of one token have no time per token: that depth is left out on both sides, and the
// others stand against their own.
func TestDepthsWithoutATimePerToken(t *testing.T) {
	t.Parallel()
	deeper := func(p *baselinetest.Parts) {
		p.Forced = false
		p.TPOT = func(d baseline.Depth, _ bool, repeat int) time.Duration {
			return baselinetest.Scattered(time.Duration(d.PromptTokens)*time.Millisecond, repeat)
		}
	}
	c := compared(t, deeper, func(p *baselinetest.Parts) {
		deeper(p)
		p.Output = func(d baseline.Depth) int {
			if d.PromptTokens == 128 {
				return 1
			}
			return d.MaxTokens
		}
	})
	if m := metric(t, c, baseline.Generation); m.Verdict != baseline.NoChange || len(m.Cells) != 1 || c.Exit() != 0 {
		t.Errorf("the same server: %s, %d depths, exit %d", m.Verdict, len(m.Cells), c.Exit())
	}
}

// Chunks are not tokens, and may hold more of them after an upgrade.
func TestNobodyCountedTheTokens(t *testing.T) {
	t.Parallel()
	chunks := func(p *baselinetest.Parts) { p.Source = record.ChunkCount }
	c := compared(t, chunks, func(p *baselinetest.Parts) {
		chunks(p)
		was := p.TPOT
		p.TPOT = func(d baseline.Depth, warm bool, repeat int) time.Duration { return 2 * was(d, warm, repeat) }
	})
	if m := metric(t, c, baseline.Generation); m.Verdict != baseline.CannotTell || m.Tested() || c.Exit() != 1 {
		t.Errorf("%s (%s), exit %d", m.Verdict, m.Why, c.Exit())
	}
	if m := metric(t, c, baseline.ColdPrefill); m.Verdict != baseline.NoChange {
		t.Errorf("prefill: %s (%s)", m.Verdict, m.Why)
	}
}
