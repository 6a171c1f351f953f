package soak

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"infbench/arrival"
)

// Plan is what a soak sets out to do.
type Plan struct {
	// For is how long it lasts, Every the time from one round to the next.
	For, Every time.Duration
	// Sessions is the size of the load beside the checks.
	Sessions int
	// Think is how long a session waits on average before its next question.
	Think time.Duration
	// KeepGoing says that a failure does not end it: does the server heal?
	KeepGoing bool
	// AllowRestarts says that a restart of the server is no failure.
	AllowRestarts bool
}

// DefaultPlan returns what holds where nobody says otherwise.
func DefaultPlan() Plan {
	return Plan{For: 8 * time.Hour, Every: 5 * time.Minute, Sessions: 2, Think: 2 * time.Second}
}

const (
	longest      = 90 * 24 * time.Hour
	mostRounds   = 100_000
	mostSessions = 1_000
)

// Validate returns what is wrong with the plan.
func (p Plan) Validate() error {
	switch {
	case p.For < time.Second || p.For > longest:
		return fmt.Errorf("a soak of %v: want 1s to %v", p.For, longest)
	case p.Every < time.Second || p.For/p.Every > mostRounds:
		return fmt.Errorf("a round every %v for %v: want 1s or more, and %d rounds at most", p.Every, p.For, mostRounds)
	case p.Sessions < 1 || p.Sessions > mostSessions:
		return fmt.Errorf("%d sessions: want 1 to %d", p.Sessions, mostSessions)
	case p.Think < 10*time.Millisecond || p.Think > time.Hour: // a server that is away would be asked without a pause
		return fmt.Errorf("a think time of %v: want 10ms to 1h", p.Think)
	}
	return nil
}

// Difference names what differs between two plans, "" when they are the same.
func (p Plan) Difference(o Plan) string {
	var out []string
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"for", p.For, o.For},
		{"every", p.Every, o.Every},
		{"sessions", p.Sessions, o.Sessions},
		{"think", p.Think, o.Think},
		{"keep-going", p.KeepGoing, o.KeepGoing},
		{"allow-restarts", p.AllowRestarts, o.AllowRestarts},
	} {
		if f.a != f.b {
			out = append(out, fmt.Sprintf("%s was %v, is %v", f.name, f.a, f.b))
		}
	}
	return strings.Join(out, "; ")
}

// load returns how the load arrives, with no more sessions than the server has slots.
func (p Plan) load(slots int) (arrival.ArrivalModel, error) {
	n := p.Sessions
	if slots > 0 {
		n = min(n, slots)
	}
	return arrival.Sessions(n, p.Think, arrival.DefaultSeed)
}

type planWire struct {
	For           string `json:"for"`
	Every         string `json:"every"`
	Sessions      int    `json:"sessions"`
	Think         string `json:"think"`
	KeepGoing     bool   `json:"keep_going"`
	AllowRestarts bool   `json:"allow_restarts"`
}

// MarshalJSON writes durations as text, such as "8h0m0s".
func (p Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(planWire{p.For.String(), p.Every.String(), p.Sessions, p.Think.String(), p.KeepGoing, p.AllowRestarts})
}

// UnmarshalJSON refuses a plan that is not valid.
func (p *Plan) UnmarshalJSON(b []byte) error {
	var w planWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	out := Plan{Sessions: w.Sessions, KeepGoing: w.KeepGoing, AllowRestarts: w.AllowRestarts}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{w.For, &out.For}, {w.Every, &out.Every}, {w.Think, &out.Think}} {
		v, err := time.ParseDuration(d.text)
		if err != nil {
			return fmt.Errorf("%.40q is no duration", d.text)
		}
		*d.to = v
	}
	if err := out.Validate(); err != nil {
		return err
	}
	*p = out
	return nil
}
