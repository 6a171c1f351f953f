package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"infbench/gates"
	"infbench/internal/stat"
)

// Standing says how a level stands to a tier.
type Standing string

// The standings. Only the first two hold the tier.
const (
	Holds       Standing = "pass"             // 99 of 100 requests were good
	HoldsSurely Standing = "pass, confident"  // and the bound of their share at 95 % is not below that
	Fails       Standing = "fail"             // more than one of 100 was not
	TooFew      Standing = "too few requests" // 100 are needed to see one of 100
	Unjudged    Standing = "not judged"       // the level cannot tell; why stands beside it
)

// Held reports whether the standing is one of those that hold the tier.
func (s Standing) Held() bool { return s == Holds || s == HoldsSurely }

// The rule: so many of a hundred requests are good, and so many requests are needed to say
// it; a bound is stated with this confidence.
const (
	attained     = 99
	leastJudged  = 100
	boundAt      = 0.95
	earlyStopAt  = 0.99 // the confidence of MLPerf's early stopping
	attainedPart = attained / 100.0
)

// Missed counts the requests that were not good, by what they missed. A request that came
// too late may miss several; one that failed or was wrong has no times to judge.
type Missed struct {
	TTFT int `json:"ttft"`
	TPOT int `json:"tpot"`
	Gap  int `json:"gap"`
	// Failed got no whole answer: an error, a refusal, a timeout, a cut stream.
	Failed int `json:"failed"`
	// Wrong is an answer that is empty, degenerate, contradicts the request, or lacks the code
	// that it was asked for.
	Wrong int `json:"wrong"`
}

func (m *Missed) add(o Missed) {
	m.TTFT, m.TPOT, m.Gap, m.Failed, m.Wrong = m.TTFT+o.TTFT, m.TPOT+o.TPOT, m.Gap+o.Gap, m.Failed+o.Failed, m.Wrong+o.Wrong
}

// Attainment is how one level stands to one tier. Issued counts every request of the level
// but its warm-up: errors, refusals and timeouts are in the denominator.
type Attainment struct {
	Standing Standing
	// Why says why the level is not judged, "" otherwise.
	Why    string
	Issued int
	// Good is absent where times cannot be judged.
	Good   gates.Count
	Missed Missed
	// Lower is the one-sided lower bound, at 95 %, of the share of good requests; 0 where
	// Good is absent.
	Lower   float64
	Goodput Goodput
	// Published is how the level stands to the rule that the tier's limits were published
	// with, nil where that is ours.
	Published *Marginal
}

// attainment judges every request of a level. codes says whether an answer without its
// code is wrong.
func (l Level) attainment(t Tier, codes bool) Attainment {
	a := Attainment{Why: l.unjudged(t)}
	times := len(l.void) == 0 && l.conduct.Saturated == ""
	j := judge{t, codes, l.arrival.Open(), times, times && l.noRates == ""}
	bad, tokens, cancelled := 0, 0, 0
	for _, s := range l.samples {
		if s.Warmup {
			continue
		}
		a.Issued++
		if s.Outcome == Cancelled {
			cancelled++
			continue
		}
		if m := j.misses(s); m != (Missed{}) {
			bad++
			a.Missed.add(m)
			continue
		}
		tokens += s.OutputTokens
	}
	if a.Why == "" && cancelled > 0 {
		a.Why = fmt.Sprintf("%d of %d requests were cancelled when the run was stopped", cancelled, a.Issued)
	}
	// What is bad without its times being looked at is bad on a level of which they cannot be.
	a.Standing = standing(a.Issued, a.Issued-bad)
	switch {
	case len(l.void) == 0 && l.conduct.Saturated != "":
		a.Standing = Fails // whatever its first requests met: the queue grows for as long as it lasts
	case a.Why != "" && a.Standing != Fails:
		a.Standing = Unjudged
	case a.Why != "":
	default:
		a.Good = gates.CountOf(a.Issued - bad)
		a.Lower = rounded(stat.ShareLower(a.Issued, bad, boundAt), 6)
	}
	a.Goodput = newGoodput(a.Issued-bad, tokens, l.counted(), a.Why)
	if t.marginal {
		p := l.marginal(j)
		if a.Why != "" {
			p = Marginal{Standing: a.Standing}
		}
		a.Published = &p
	}
	return a
}

func standing(n, good int) Standing {
	switch {
	case n < leastJudged:
		return TooFew
	case good*100 < n*attained:
		return Fails
	case stat.ShareLower(n, n-good, boundAt) >= attainedPart:
		return HoldsSurely
	}
	return Holds
}

// unjudged says why a level cannot be held to a tier, "" where it can.
func (l Level) unjudged(t Tier) string {
	_, limited := t.MaxGap()
	switch {
	case len(l.void) > 0:
		return "the level is void: " + l.void[0]
	case l.conduct.Saturated != "":
		return "the load was more than the server can take: " + l.conduct.Saturated
	case l.noRates != "":
		return "no TPOT: " + l.noRates
	case limited && !slices.Contains(l.form.columns, "max_gap_ns"):
		return "the record does not tell the gaps"
	}
	return ""
}

// judge holds a request to a tier as far as its level allows.
type judge struct {
	tier        Tier
	codes, open bool
	times, tpot bool // whether times, and times per token, may be looked at
}

func (j judge) misses(s Sample) Missed {
	switch s.Outcome {
	case OK:
	case Wrong, Degenerate, Empty:
		return Missed{Wrong: 1}
	default:
		return Missed{Failed: 1}
	}
	if j.codes && s.Code == CodeMissing {
		return Missed{Wrong: 1}
	}
	var m Missed
	if j.times && s.First-began(s, j.open) > j.tier.ttft {
		m.TTFT = 1
	}
	if d, ok := tpot(s); j.tpot && ok && d > j.tier.tpot {
		m.TPOT = 1
	}
	if limit, ok := j.tier.MaxGap(); j.times && ok && s.MaxGap > limit {
		m.Gap = 1
	}
	return m
}

// began is when a request's latency begins: when it was due where a clock starts requests,
// when it was sent where sessions do.
func began(s Sample, open bool) time.Duration {
	if open {
		return s.Due
	}
	return s.Sent
}

// Marginal is how a level stands to limits on the 99th percentile of TTFT and of TPOT, each
// by itself: which requests are over the one and which over the other does not matter.
// Requests that failed or were wrong count as over both.
type Marginal struct {
	Standing   Standing
	TTFT, TPOT Tail
}

// Tail counts what is over a limit.
type Tail struct {
	// Requests is how many have the time at all: one token has no TPOT.
	Requests int `json:"requests"`
	Over     int `json:"over"`
	// Needed is the number of requests from which so many over the limit let early stopping
	// decide, at a confidence of 99 %.
	Needed int `json:"needed"`
}

func (t Tail) standing() Standing {
	switch {
	case t.Requests < leastJudged:
		return TooFew
	case t.Over*100 > t.Requests*(100-attained):
		return Fails
	case t.Requests >= t.Needed:
		return HoldsSurely
	}
	return Holds
}

// marginal holds a level to the rule of MLPerf. A percentile by nearest rank is within its
// limit exactly when at most one of 100 is over it.
func (l Level) marginal(j judge) Marginal {
	var m Marginal
	for _, s := range l.samples {
		if s.Warmup {
			continue
		}
		_, ok := tpot(s)
		missed := j.misses(s)
		failed := missed.Failed+missed.Wrong > 0
		m.TTFT.count(failed || missed.TTFT > 0)
		if ok || failed {
			m.TPOT.count(failed || missed.TPOT > 0)
		}
	}
	m.TTFT.Needed, _ = stat.LeastTrials(m.TTFT.Over, attainedPart, earlyStopAt)
	m.TPOT.Needed, _ = stat.LeastTrials(m.TPOT.Over, attainedPart, earlyStopAt)
	a, b := m.TTFT.standing(), m.TPOT.standing()
	for _, worst := range []Standing{Fails, TooFew, Holds, HoldsSurely} {
		if a == worst || b == worst {
			m.Standing = worst
			return m
		}
	}
	return m
}

func (t *Tail) count(over bool) {
	t.Requests++
	if over {
		t.Over++
	}
}

// Goodput is what a level gave in good requests alone: by far not what it emitted. Only an
// [Attainment] makes one: it is nothing without its tier.
type Goodput struct {
	requests, tokens float64
	withheld         string
}

func newGoodput(good, tokens int, window time.Duration, withheld string) Goodput {
	switch {
	case withheld != "":
		return Goodput{withheld: withheld}
	case window <= 0:
		return Goodput{withheld: "no request outside of the warm-up"}
	}
	return Goodput{requests: float64(good) / window.Seconds(), tokens: float64(tokens) / window.Seconds()}
}

// PerSecond returns good requests and their completion tokens per second; ok is false when
// they are withheld.
func (g Goodput) PerSecond() (requests, tokens float64, ok bool) {
	return g.requests, g.tokens, g.withheld == ""
}

// TokensPerHour returns the completion tokens of good requests in an hour.
func (g Goodput) TokensPerHour() (tokens float64, ok bool) { return 3600 * g.tokens, g.withheld == "" }

// Withheld returns why there is none.
func (g Goodput) Withheld() string { return g.withheld }

// String returns both rates, or a dash and the reason.
func (g Goodput) String() string {
	if g.withheld != "" {
		return "— (" + g.withheld + ")"
	}
	return strconv.FormatFloat(g.requests, 'f', 2, 64) + " requests/s, " + strconv.FormatFloat(g.tokens, 'f', 1, 64) + " tok/s"
}

// counted is the time in which the requests outside of the warm-up ran: in each repeat from
// the first one's beginning to the last one's end, what repeats share counted once. The
// drain at the end is in it, so that a goodput is rather too low.
func (l Level) counted() time.Duration {
	type span struct{ from, to time.Duration }
	blocks := map[int]span{}
	for _, s := range l.samples {
		if s.Warmup {
			continue
		}
		from := began(s, l.arrival.Open())
		b, ok := blocks[s.Block]
		if !ok {
			b = span{from, s.End}
		}
		blocks[s.Block] = span{min(b.from, from), max(b.to, s.End)}
	}
	var spans []span
	for _, b := range blocks {
		spans = append(spans, b)
	}
	slices.SortFunc(spans, func(a, b span) int { return int(max(-1, min(1, a.from-b.from))) })
	var sum, seen time.Duration
	for _, s := range spans {
		seen = max(seen, s.from)
		sum += max(0, s.to-seen)
		seen = max(seen, s.to)
	}
	return sum
}

// rounded keeps so many decimals: what a special function gives differs in its last digits
// from machine to machine, and a record is read on another one than it was written on.
func rounded(v float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(v*scale) / scale
}
