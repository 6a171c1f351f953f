package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"infbench/gates"
	"infbench/internal/stat"
	"infbench/internal/trend"
)

// Rung is one depth of a ladder: the same answers asked for, one at a time, behind a prompt
// of so many tokens. Its first request computes the prompt and counts as warm-up; the others
// repeat its beginning, so that what they measure is the decoding.
type Rung struct {
	// AimTokens is the length of prompt that was aimed at.
	AimTokens int
	Level     Level
}

// maxRungs bounds a ladder.
const maxRungs = 64

// WithLadder returns the measurements with a ladder of depths, and why other depths are not
// in it.
func (m Measurements) WithLadder(rungs []Rung, left []string) (Measurements, error) {
	if m.IsZero() {
		return m, errors.New("a ladder stands beside levels, and there is none")
	}
	if len(rungs) > maxRungs || len(left) > maxRungs {
		return m, fmt.Errorf("%d depths are more than any ladder has", max(len(rungs), len(left)))
	}
	last := 0
	for i, r := range rungs {
		switch {
		case !r.Level.hasFigure || r.Level.arrival.Sessions() != 1:
			return m, fmt.Errorf("depth %d was not measured serially", i)
		case r.AimTokens <= last:
			return m, fmt.Errorf("the depths do not ascend: %d after %d tokens", r.AimTokens, last)
		}
		last = r.AimTokens
	}
	m.rungs, m.depthsLeft, m.depthFit = slices.Clone(rungs), slices.Clone(left), fitDepth(rungs)
	for i := range m.depthsLeft {
		m.depthsLeft[i] = gates.Printable(m.depthsLeft[i], 200)
	}
	return m, nil
}

// Ladder says how decoding slows down with the KV depth, at one request in flight.
type Ladder struct {
	Rungs []MeasuredRung
	// Left says why other depths were not measured.
	Left []string
	Fit  DepthFit
}

// MeasuredRung is one depth with its figures.
type MeasuredRung struct {
	AimTokens int
	Void      []string
	Figures   Figures
}

// DepthFit is TPOT = Base + PerThousand · depth/1000 over all answers of a ladder, by least
// squares; Robust is the slope by Theil and Sen, which one wild answer does not move. It is
// withheld where fewer than three depths were measured.
type DepthFit struct {
	Base, PerThousand TimeTerm
	Robust            time.Duration
	Answers           int
	withheld          string
}

// TimeTerm is a time with its 95 % interval.
type TimeTerm struct{ Value, Low, High time.Duration }

// Withheld returns why there is no fit, "" when there is one.
func (f DepthFit) Withheld() string { return f.withheld }

// Ladder returns the ladder of depths; it holds no rung where none was measured.
func (p PerfRecord) Ladder() Ladder { return p.measured.ladder() }

func (m Measurements) ladder() Ladder {
	l := Ladder{Left: slices.Clone(m.depthsLeft)}
	for _, r := range m.rungs {
		l.Rungs = append(l.Rungs, MeasuredRung{r.AimTokens, slices.Clone(r.Level.void), r.Level.figures})
	}
	l.Fit = m.depthFit
	return l
}

func fitDepth(rungs []Rung) DepthFit {
	var x, y []float64
	var robust trend.Series
	depths := 0
	for _, r := range rungs {
		if len(r.Level.void) > 0 || r.Level.noRates != "" {
			continue
		}
		before := len(x)
		for _, s := range r.Level.samples {
			p, counted := s.PromptTokens.N()
			t, ok := tpot(s)
			if s.Outcome == OK && !s.Warmup && counted && ok {
				depth := float64(p+s.OutputTokens/2) / 1000
				x, y = append(x, depth), append(y, float64(t))
				robust.Add(depth, float64(t))
			}
		}
		if len(x) > before {
			depths++
		}
	}
	if depths < 3 {
		return DepthFit{withheld: fmt.Sprintf("%d depths: a line needs three", depths)}
	}
	line, err := stat.FitLine(stat.Points{X: x, Y: y})
	if err != nil {
		return DepthFit{withheld: err.Error()}
	}
	slope, _ := robust.Slope()
	term := func(t stat.Term) TimeTerm {
		return TimeTerm{time.Duration(t.Value), time.Duration(t.Low), time.Duration(t.High)}
	}
	return DepthFit{term(line.Intercept), term(line.Slope), time.Duration(slope), line.N, ""}
}

type rungWire struct {
	AimTokens int             `json:"aim_tokens"`
	Level     json.RawMessage `json:"level"`
}

type timeTermWire struct {
	NS     int64 `json:"ns"`
	LowNS  int64 `json:"low_95_ns"`
	HighNS int64 `json:"high_95_ns"`
}

type depthFitWire struct {
	Base        *timeTermWire `json:"tpot_at_depth_0,omitempty"`
	PerThousand *timeTermWire `json:"tpot_per_1000_tokens,omitempty"`
	RobustNS    *int64        `json:"theil_sen_per_1000_tokens_ns,omitempty"`
	Answers     int           `json:"answers,omitempty"`
	Withheld    string        `json:"withheld,omitempty"`
}

type ladderWire struct {
	Rungs []rungWire   `json:"rungs"`
	Left  []string     `json:"left_out,omitempty"`
	Fit   depthFitWire `json:"fit"`
}

func (f DepthFit) wire() depthFitWire {
	if f.withheld != "" {
		return depthFitWire{Withheld: f.withheld}
	}
	term := func(t TimeTerm) *timeTermWire { return &timeTermWire{int64(t.Value), int64(t.Low), int64(t.High)} }
	robust := int64(f.Robust)
	return depthFitWire{Base: term(f.Base), PerThousand: term(f.PerThousand), RobustNS: &robust, Answers: f.Answers}
}

// encodeLadder returns nil where there is neither a rung nor a reason.
func (m Measurements) encodeLadder() (*ladderWire, error) {
	if len(m.rungs)+len(m.depthsLeft) == 0 {
		return nil, nil
	}
	w := &ladderWire{Left: m.depthsLeft, Fit: m.depthFit.wire()}
	for _, r := range m.rungs {
		raw, err := r.Level.encode()
		if err != nil {
			return nil, err
		}
		w.Rungs = append(w.Rungs, rungWire{r.AimTokens, raw})
	}
	return w, nil
}

// decodeLadder reads a ladder and works its fit out again.
func (m Measurements) decodeLadder(w *ladderWire) (Measurements, error) {
	if w == nil {
		return m, nil
	}
	var rungs []Rung
	for i, r := range w.Rungs {
		l, err := decodeLevel(r.Level)
		if err != nil {
			return m, fmt.Errorf("depth %d: %w", i, err)
		}
		rungs = append(rungs, Rung{r.AimTokens, l})
	}
	m, err := m.WithLadder(rungs, w.Left)
	if err != nil {
		return m, err
	}
	if !w.Fit.near(m.depthFit.wire()) {
		return m, errNotFollowing
	}
	m.depthFit = w.Fit.fit() // as it was written: its line has a digest
	return m, nil
}

func (w depthFitWire) fit() DepthFit {
	if w.Withheld != "" || w.Base == nil || w.PerThousand == nil || w.RobustNS == nil {
		return DepthFit{withheld: w.Withheld}
	}
	term := func(t *timeTermWire) TimeTerm {
		return TimeTerm{time.Duration(t.NS), time.Duration(t.LowNS), time.Duration(t.HighNS)}
	}
	return DepthFit{term(w.Base), term(w.PerThousand), time.Duration(*w.RobustNS), w.Answers, ""}
}

// near compares two fits to the microsecond and a millionth: processors differ in the last
// bits of a sum of products.
func (w depthFitWire) near(o depthFitWire) bool {
	if w.Withheld != o.Withheld || w.Answers != o.Answers || (w.Base == nil) != (o.Base == nil) || (w.PerThousand == nil) != (o.PerThousand == nil) || (w.RobustNS == nil) != (o.RobustNS == nil) {
		return false
	}
	var a, b []int64
	for _, f := range []struct {
		from depthFitWire
		to   *[]int64
	}{{w, &a}, {o, &b}} {
		for _, t := range []*timeTermWire{f.from.Base, f.from.PerThousand} {
			if t != nil {
				*f.to = append(*f.to, t.NS, t.LowNS, t.HighNS)
			}
		}
		if f.from.RobustNS != nil {
			*f.to = append(*f.to, *f.from.RobustNS)
		}
	}
	for i := range a {
		if math.Abs(float64(a[i])-float64(b[i])) > 1000+1e-6*math.Abs(float64(b[i])) {
			return false
		}
	}
	return true
}
