package baseline

import (
	"fmt"
	"math"

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
