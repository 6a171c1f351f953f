package soak

import (
	"fmt"
	"math"
	"time"

	"infbench/gates"
	"infbench/internal/trend"
)

// Word says what is known of a trend.
type Word uint8

// The words.
const (
	_       Word = iota
	Steady       // it was looked at, and does not creep by as much as the limit
	Creeps       // it creeps by more than the limit
	Unclear      // too few rounds, or too noisy ones, to say either
	Unshown      // the server does not show it
)

var wordTexts = [...]string{"", "steady", "creeps", "cannot tell", "not shown"}

// String returns the word as it is read.
func (w Word) String() string {
	if int(w) >= len(wordTexts) {
		return ""
	}
	return wordTexts[w]
}

// MarshalText writes [Word.String].
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// A Trend is one thing that may creep over hours, and what is known of it.
type Trend struct {
	Metric string `json:"metric"`
	Word   Word   `json:"verdict"`
	// Why says it in words.
	Why string `json:"why"`
	// PerHour is the change in an hour in Unit, null where it cannot be had: "%" of how it
	// began, or "points", or a count.
	PerHour *float64 `json:"per_hour"`
	Unit    string   `json:"unit"`
	// Now compares the last quarter of the rounds with the beginning.
	Now    Ratio `json:"now"`
	Rounds int   `json:"rounds"`
	// Mode is the entry of the failure taxonomy.
	Mode string `json:"mode,omitempty"`
	// weighty says that not to know it is a reservation.
	weighty bool
}

// metric is one thing that is looked at in each reading.
type metric struct {
	name, mode string
	// limit is how much it may grow in an hour: in percent of how it began where relative is
	// set, else in the unit.
	limit    float64
	relative bool
	unit     string
	// grain is the least step that it takes: nothing is known to be steady before the limit
	// could have made one.
	grain float64
	// falls says that growing is good and falling is not.
	falls   bool
	weighty bool
	// timed says that it hangs on the times of the first round.
	timed bool
	value func(r Reading, before *Reading) (float64, bool)
}

func counted(get func(Reading) gates.Count) func(Reading, *Reading) (float64, bool) {
	return func(r Reading, _ *Reading) (float64, bool) {
		n, ok := get(r).N()
		return float64(n), ok
	}
}

var perToken = metric{
	name: "time per token", mode: "OPS-08", limit: 10, relative: true, weighty: true, timed: true,
	value: func(r Reading, _ *Reading) (float64, bool) { return r.PerToken.Times() },
}

// metrics are what is looked at, worst news first. The limit of 10 % an hour is that of
// the taxonomy's OPS-08; the others are as much as nobody would take for noise.
var metrics = []metric{
	{name: "first token", mode: "OPS-08", limit: 10, relative: true, weighty: true, timed: true, value: func(r Reading, _ *Reading) (float64, bool) { return r.FirstToken.Times() }},
	perToken,
	{name: "resident memory", mode: "OPS-08", limit: 10, relative: true, weighty: true, value: counted(func(r Reading) gates.Count { return r.Rest.ResidentBytes })},
	{name: "right answers", limit: 2, grain: 2, unit: "points", falls: true, value: func(r Reading, _ *Reading) (float64, bool) { return r.Load.rightShare() }},
	{name: "cached share", limit: 5, grain: 1, unit: "points", falls: true, value: func(r Reading, _ *Reading) (float64, bool) { return r.Load.cachedShare() }},
	{name: "KV cache at rest", limit: 5, grain: 1, unit: "points", value: func(r Reading, _ *Reading) (float64, bool) {
		n, ok := r.Rest.KVPermille.N()
		return float64(n) / 10, ok
	}},
	{name: "running at rest", limit: 1, grain: 1, value: counted(func(r Reading) gates.Count { return r.Rest.Running })},
	{name: "queued at rest", limit: 1, grain: 1, value: counted(func(r Reading) gates.Count { return r.Rest.Waiting })},
	{name: "preempted a round", limit: 1, grain: 1, value: func(r Reading, before *Reading) (float64, bool) {
		if before == nil {
			return 0, false
		}
		now, ok := r.Rest.Preempted.N()
		was, okBefore := before.Rest.Preempted.N()
		return float64(now - was), ok && okBefore && now >= was
	}},
}

// The levels of the tests. An alarm in the middle is sounded after many looks, and wants an
// hour; a claim about an hour that was seen for less wants as much evidence.
const (
	atTheEnd   = 0.01
	inBetween  = 0.001
	alarmAfter = time.Hour
	leastSpan  = 5 * time.Minute
)

// Trends returns what is known of everything that may creep since the server that answers
// now was first seen.
func (h *History) Trends() []Trend {
	var out []Trend
	for _, m := range metrics {
		out = append(out, h.trend(m, atTheEnd))
	}
	return append(out, h.decode())
}

// alarms returns what creeps so clearly that it is told before the end.
func (h *History) alarms() []Trend {
	var out []Trend
	for _, m := range metrics {
		s := h.since(m)
		if len(s) == 0 || s[len(s)-1].at-s[0].at < alarmAfter {
			continue
		}
		if t := h.trend(m, inBetween); t.Word == Creeps {
			out = append(out, t)
		}
	}
	if d := h.decode(); d.Word == Creeps {
		out = append(out, d)
	}
	return out
}

// since returns the readings that belong together for a metric.
func (h *History) since(m metric) []reading {
	from := h.fresh
	if m.timed {
		from = max(from, h.paced)
	}
	return h.readings[min(from, len(h.readings)):]
}

func (h *History) trend(m metric, level float64) Trend {
	t := Trend{Metric: m.name, Unit: m.unit, Mode: m.mode, weighty: m.weighty}
	if m.relative {
		t.Unit = "%"
	}
	points, values := h.points(m)
	t.Rounds = len(points)
	if len(points) == 0 {
		t.Word, t.Why = Unshown, "the server does not show it"
		if m.timed || m.falls && len(h.readings) < 2 {
			t.Word, t.Why = Unclear, "it was not measured"
		}
		return t
	}
	begin := h.beginning(points)
	base := trend.Median(values[:begin])
	last := trend.Median(values[len(values)-max(1, len(values)/4):])
	if m.relative {
		t.Now = ratio(last / base)
	}
	sign, scale := 1.0, 1.0
	if m.falls {
		sign = -1
	}
	if m.relative {
		scale = 100 / base
	}
	var s trend.Series
	for i, p := range points {
		s.Add(p.at.Hours(), sign*scale*values[i])
	}
	// A change in an hour that was seen for a minute is no change in an hour.
	span := points[len(points)-1].at - points[0].at
	if slope, ok := s.Slope(); ok && len(points) >= trend.Least && span >= leastSpan {
		perHour := math.Round(sign*slope*100)/100 + 0 // no -0
		t.PerHour = &perHour
	}
	above, below := s.Against(m.limit)
	limit := fmt.Sprintf("%v%s an hour", m.limit, unitText(t.Unit))
	verb := "grow"
	if m.falls {
		verb = "fall"
	}
	if span < alarmAfter {
		level = inBetween
	}
	switch {
	case len(points) < trend.Least:
		t.Word, t.Why = Unclear, fmt.Sprintf("%s: %d are needed at least", plural(len(points), "round"), trend.Least)
	case above < level:
		t.Word, t.Why = Creeps, fmt.Sprintf("it %ss by more than %s (%s, %s)", verb, limit, chance(above), plural(len(points), "round"))
	case below < atTheEnd && m.limit*span.Hours() < m.grain:
		t.Word, t.Why = Unclear, fmt.Sprintf("it was not seen to %s, and %v are too short to tell %s", verb, span.Round(time.Second), limit)
	case below < atTheEnd:
		t.Word, t.Why = Steady, fmt.Sprintf("it does not %s by %s (%s, %s)", verb, limit, chance(below), plural(len(points), "round"))
	default:
		t.Word, t.Why = Unclear, fmt.Sprintf("%s do not tell %s from none", plural(len(points), "round"), limit)
	}
	return t
}

// points returns the readings in which a metric is known, and its values.
func (h *History) points(m metric) ([]reading, []float64) {
	var points []reading
	var values []float64
	all := h.since(m)
	for i, r := range all {
		var before *Reading
		if i > 0 {
			before = &all[i-1].seen
		}
		if v, ok := m.value(r.seen, before); ok && (!m.relative || v > 0) {
			points, values = append(points, r), append(values, v)
		}
	}
	return points, values
}

// beginning returns how many of the points are the beginning that all is compared with:
// those of the first hour, or of the first quarter of the plan where that is shorter, and
// three at least.
func (h *History) beginning(points []reading) int {
	within := min(time.Hour, h.Plan().For/4)
	n := 0
	for n < len(points) && points[n].at-points[0].at <= within {
		n++
	}
	return min(max(n, 3), len(points))
}

// halved is how many times slower than at the beginning decoding is another thing, such as
// a silent change to another device; lately is how many rounds in a row say so.
const (
	halved = 2
	lately = 3
)

// decode compares the speed of decoding with the beginning: a sudden fall shows in no trend.
func (h *History) decode() Trend {
	t := Trend{Metric: "decode speed", Mode: "OPS-05", weighty: true}
	points, values := h.points(perToken)
	t.Rounds = len(points)
	begin := h.beginning(points)
	if len(points) < begin+lately {
		t.Word, t.Why = Unclear, fmt.Sprintf("%s: the beginning and %d more are needed", plural(len(points), "round"), lately)
		return t
	}
	base := trend.Median(values[:begin])
	recent := values[len(values)-lately:]
	t.Now = ratio(base / trend.Median(recent))
	for _, v := range recent {
		if v <= halved*base {
			t.Word, t.Why = Steady, fmt.Sprintf("more than half as fast as at the beginning (%s)", plural(len(points), "round"))
			return t
		}
	}
	t.Word, t.Why = Creeps, fmt.Sprintf("in the last %d rounds it decodes less than half as fast as at the beginning: a warning here, a hard failure in stage 4", lately)
	return t
}

// chance says a probability as far as anybody wants to know it.
func chance(p float64) string {
	if p < 1e-4 {
		return "p < 0.0001"
	}
	return fmt.Sprintf("p = %.1g", p)
}

func unitText(unit string) string {
	switch unit {
	case "":
		return ""
	case "%":
		return " %"
	}
	return " " + unit
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
