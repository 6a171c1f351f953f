package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Tier is what a person may expect of every request: the longest time to the first token,
// the longest time per output token after it, and the longest silence between two reads
// that carried text. It is comparable. The zero Tier is none and does not marshal.
type Tier struct {
	name            string
	ttft, tpot, gap time.Duration // gap is 0 where silence has no limit
	// marginal says that whoever published the limits means two percentiles by them and not
	// each request: that rule is then told beside ours.
	marginal bool
}

// maxLimit bounds a limit: who waits for longer than an hour is no interactive user.
const maxLimit = time.Hour

var (
	ownName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)
	anyName = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]{0,59}$`)
)

// NewTier returns a tier of one's own. maxGap may be 0: no limit. A name that a built-in
// tier has is refused, so that it means one thing.
func NewTier(name string, ttft, tpot, maxGap time.Duration) (Tier, error) {
	if !ownName.MatchString(name) {
		return Tier{}, fmt.Errorf("%.60q is no name of a tier: want up to 40 of a-z, 0-9, point, dash and underscore", name)
	}
	if _, ok := NamedTier(name); ok {
		return Tier{}, fmt.Errorf("the tier %s has limits of its own: take another name", name)
	}
	return Tier{name: name, ttft: ttft, tpot: tpot, gap: maxGap}.checked()
}

func (t Tier) checked() (Tier, error) {
	if !anyName.MatchString(t.name) {
		return Tier{}, fmt.Errorf("%.60q is no name of a tier", t.name)
	}
	for _, limit := range []struct {
		of   string
		is   time.Duration
		none bool
	}{{"TTFT", t.ttft, false}, {"TPOT", t.tpot, false}, {"the gap", t.gap, true}} {
		if limit.is < 0 || limit.is > maxLimit || limit.is == 0 && !limit.none {
			return Tier{}, fmt.Errorf("tier %s: a limit of %v for %s: want more than 0 and at most %v", t.name, limit.is, limit.of, maxLimit)
		}
	}
	return t, nil
}

// IsZero reports whether this is no tier.
func (t Tier) IsZero() bool { return t.name == "" }

// Name returns the name, such as "good".
func (t Tier) Name() string { return t.name }

// TTFT returns the longest time to the first token.
func (t Tier) TTFT() time.Duration { return t.ttft }

// TPOT returns the longest time per output token after the first.
func (t Tier) TPOT() time.Duration { return t.tpot }

// MaxGap returns the longest time between two reads with text; ok is false where it has no
// limit.
func (t Tier) MaxGap() (d time.Duration, ok bool) { return t.gap, t.gap > 0 }

// Marginal reports whether the tier's limits were published as limits on two percentiles.
func (t Tier) Marginal() bool { return t.marginal }

// String says the tier in one line.
func (t Tier) String() string {
	if t.IsZero() {
		return "no tier"
	}
	s := fmt.Sprintf("%s: TTFT %v, TPOT %v", t.name, t.ttft, t.tpot)
	if t.gap > 0 {
		s += fmt.Sprintf(", no gap over %v", t.gap)
	}
	return s
}

const marginalRule = "p99 of each"

type tierWire struct {
	Name   string `json:"name"`
	TTFT   int64  `json:"ttft_ns"`
	TPOT   int64  `json:"tpot_ns"`
	MaxGap int64  `json:"max_gap_ns,omitempty"`
	// Rule is what the limits were published as limits on, where that is not each request.
	Rule string `json:"published_rule,omitempty"`
}

// MarshalJSON refuses the zero Tier.
func (t Tier) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return nil, errors.New("no tier: it does not marshal")
	}
	w := tierWire{Name: t.name, TTFT: int64(t.ttft), TPOT: int64(t.tpot), MaxGap: int64(t.gap)}
	if t.marginal {
		w.Rule = marginalRule
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a tier with its limits, whatever the built-in one of that name has
// today; unknown fields are errors.
func (t *Tier) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var w tierWire
	if err := d.Decode(&w); err != nil {
		return fmt.Errorf("a tier: %w", err)
	}
	if w.Rule != "" && w.Rule != marginalRule {
		return fmt.Errorf("tier %.60q: the rule %.40q is not known", w.Name, w.Rule)
	}
	out, err := Tier{w.Name, time.Duration(w.TTFT), time.Duration(w.TPOT), time.Duration(w.MaxGap), w.Rule != ""}.checked()
	if err != nil {
		return err
	}
	*t = out
	return nil
}

// builtin are the tiers that have names of their own. Those of MLPerf are the limits of its
// configuration file (mlperf.conf at b66003e10e2d), without a limit on silence; its rules'
// text allows gpt-oss-120b 20 ms per token in the interactive scenario, the file 15.
var builtin = []Tier{
	{name: "good", ttft: time.Second, tpot: 25 * time.Millisecond, gap: time.Second},
	{name: "average", ttft: 2 * time.Second, tpot: 50 * time.Millisecond, gap: 2 * time.Second},
	mlperf("llama2-70b/server", 2000, 200),
	mlperf("llama2-70b/interactive", 450, 40),
	mlperf("llama3.1-8b/server", 2000, 100),
	mlperf("llama3.1-8b/interactive", 500, 30),
	mlperf("llama3.1-405b/server", 6000, 175),
	mlperf("llama3.1-405b/interactive", 4500, 80),
	mlperf("mixtral-8x7b/server", 2000, 200),
	mlperf("deepseek-r1/server", 2000, 80),
	mlperf("deepseek-r1/interactive", 1500, 15),
	mlperf("gpt-oss-120b/server", 3000, 80),
	mlperf("gpt-oss-120b/interactive", 2000, 15),
}

func mlperf(name string, ttftMS, tpotMS int) Tier {
	return Tier{name: "mlperf:" + name, ttft: time.Duration(ttftMS) * time.Millisecond, tpot: time.Duration(tpotMS) * time.Millisecond, marginal: true}
}

// NamedTier returns a built-in tier.
func NamedTier(name string) (t Tier, ok bool) {
	i := slices.IndexFunc(builtin, func(t Tier) bool { return t.name == name })
	if i < 0 {
		return Tier{}, false
	}
	return builtin[i], true
}

// TierNames returns the names of the built-in tiers, the defaults first.
func TierNames() []string {
	var out []string
	for _, t := range builtin {
		out = append(out, t.name)
	}
	return out
}

// DefaultTiers returns the tiers that a measurement is held to when nothing else is said.
func DefaultTiers() []Tier { return slices.Clone(builtin[:2]) }
