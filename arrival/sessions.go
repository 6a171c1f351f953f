package arrival

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

var _ = register(kind{
	name:   "sessions",
	usage:  "sessions:n=4,think=2s,start=stationary,seed=NAME",
	decode: decodeSessions,
	parse:  parseSessions,
})

const maxSessions = 100_000

type sessions struct {
	n     int
	pause Think
	start Start
	seed  string
	// unsaid is a start that the record read does not name. It is written as it was read:
	// a line of a record has a digest.
	unsaid bool
}

// Sessions is a closed loop: n sessions, each of which sends its next request after its
// last answer has ended and an exponential think time of the given mean has passed. With
// think time the start is stationary; without it all begin at once.
func Sessions(n int, meanThink time.Duration, seed string) (ArrivalModel, error) {
	if meanThink == 0 {
		return SessionsOf(n, Think{}, Start{}, seed)
	}
	think, err := ExponentialThink(meanThink)
	if err != nil {
		return ArrivalModel{}, err
	}
	return SessionsOf(n, think, Start{}, seed)
}

// SessionsOf is a closed loop with any law of think times and any start.
func SessionsOf(n int, think Think, start Start, seed string) (ArrivalModel, error) {
	if n < 1 || n > maxSessions {
		return ArrivalModel{}, fmt.Errorf("%d sessions: want 1 to %d", n, maxSessions)
	}
	if err := checkSeed(seed); err != nil {
		return ArrivalModel{}, err
	}
	start, err := start.settled(think)
	if err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{sessions{n: n, pause: think, start: start, seed: seed}}, nil
}

func (sessions) kind() string { return "sessions" }

func (s sessions) String() string {
	text := "closed loop, " + counted(s.n, "session")
	if s.pause.IsZero() {
		text += ", no think time"
	} else {
		text += ", think time " + s.pause.law.String()
	}
	if s.start != usualStart(s.pause) {
		text += ", " + s.start.String()
	}
	if s.pause.IsZero() {
		return text
	}
	return fmt.Sprintf("%s, seed %q", text, s.seed)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s sessions) label() string {
	text := fmt.Sprintf("sessions:n=%d", s.n)
	if !s.pause.IsZero() {
		text += "," + s.pause.law.keys()
	}
	if s.start != usualStart(s.pause) {
		text += ",start=" + startRules[s.start.rule]
		if s.start.over != 0 {
			text += fmt.Sprintf(",over=%v", s.start.over)
		}
	}
	return text
}

// sessionsWire is the JSON. Records before there were other laws have a mean alone, and
// no start.
type sessionsWire struct {
	Kind     string `json:"kind,omitempty"`
	Sessions int    `json:"sessions"`
	Law      string `json:"think_law,omitempty"` // absent: exponential
	MeanNS   *int64 `json:"mean_think_ns,omitempty"`
	MedianNS int64  `json:"median_think_ns,omitempty"`
	P95NS    int64  `json:"p95_think_ns,omitempty"`
	Start    string `json:"start,omitempty"` // absent: stationary with think time, else all at once
	OverNS   int64  `json:"start_over_ns,omitempty"`
	Seed     string `json:"seed"`
}

func (s sessions) spec() any {
	w := sessionsWire{Sessions: s.n, Start: startRules[s.start.rule], OverNS: int64(s.start.over), Seed: s.seed}
	if s.unsaid {
		w.Start = ""
	}
	if l, ok := s.pause.law.(lognormalThink); ok {
		w.Law, w.MedianNS, w.P95NS = l.name(), int64(l.median), int64(l.p95)
		return w
	}
	mean := int64(s.pause.Mean())
	w.MeanNS = &mean
	if c, ok := s.pause.law.(constantThink); ok {
		w.Law = c.name()
	}
	return w
}

func decodeSessions(raw json.RawMessage) (ArrivalModel, error) {
	var w sessionsWire
	if err := strict(raw, &w); err != nil {
		return ArrivalModel{}, err
	}
	var mean time.Duration
	if w.MeanNS != nil {
		mean = time.Duration(*w.MeanNS)
	}
	think, err := thinkOf(w.Law, mean, time.Duration(w.MedianNS), time.Duration(w.P95NS))
	if err != nil {
		return ArrivalModel{}, err
	}
	start, err := parseStart(w.Start, time.Duration(w.OverNS))
	if err != nil {
		return ArrivalModel{}, err
	}
	m, err := SessionsOf(w.Sessions, think, start, w.Seed)
	if s, ok := m.m.(sessions); ok {
		s.unsaid = w.Start == ""
		m.m = s
	}
	return m, err
}

func (s sessions) explicit() model {
	s.unsaid = false
	return s
}

func parseSessions(a arguments) (ArrivalModel, error) {
	n, err := a.count("n")
	if err != nil {
		return ArrivalModel{}, err
	}
	var d [4]time.Duration
	for i, key := range []string{"think", "think-p50", "think-p95", "over"} {
		if d[i], err = a.duration(key, 0); err != nil {
			return ArrivalModel{}, err
		}
	}
	think, err := thinkOf(a.text("think-law", ""), d[0], d[1], d[2])
	if err != nil {
		return ArrivalModel{}, err
	}
	start, err := parseStart(a.text("start", ""), d[3])
	if err != nil {
		return ArrivalModel{}, err
	}
	return SessionsOf(n, think, start, a.text("seed", DefaultSeed))
}

// thinkOf returns the law that the parameters describe: a mean for the exponential and
// the constant law, a median with a 95th percentile for the lognormal one.
func thinkOf(law string, mean, median, p95 time.Duration) (Think, error) {
	switch {
	case law == "lognormal" || law == "" && (median != 0 || p95 != 0):
		if mean != 0 {
			return Think{}, errors.New("a lognormal think time is given by think-p50 and think-p95, not by think")
		}
		return LognormalThink(median, p95)
	case median != 0 || p95 != 0:
		return Think{}, fmt.Errorf("think-p50 and think-p95 make a lognormal think time, not %.30q", law)
	case law == "constant":
		return ConstantThink(mean)
	case law != "" && law != "exponential":
		return Think{}, fmt.Errorf("think-law=%.30q: want exponential, constant or lognormal", law)
	case mean == 0 && law == "":
		return Think{}, nil
	default:
		return ExponentialThink(mean)
	}
}

func (s sessions) sessions() int { return s.n }

func (s sessions) think(session int) func() (time.Duration, bool) {
	draws := newStream(s.seed, "think", session)
	begun := false
	return func() (time.Duration, bool) {
		switch {
		case !begun:
			begun = true
			return s.start.first(session, s.n, s.pause, s.seed, draws), true
		case s.pause.IsZero():
			return 0, true
		default:
			return s.pause.law.draw(draws), true
		}
	}
}
