package arrival

import (
	"encoding/json"
	"fmt"
	"time"
)

var _ = register(kind{
	name:  "sessions",
	usage: "sessions:n=4,think=2s,seed=NAME",
	decode: func(raw json.RawMessage) (ArrivalModel, error) {
		var w struct {
			Kind     string `json:"kind"`
			Sessions int    `json:"sessions"`
			ThinkNS  int64  `json:"mean_think_ns"`
			Seed     string `json:"seed"`
		}
		if err := strict(raw, &w); err != nil {
			return ArrivalModel{}, err
		}
		return Sessions(w.Sessions, time.Duration(w.ThinkNS), w.Seed)
	},
	parse: func(a arguments) (ArrivalModel, error) {
		n, err := a.count("n")
		if err != nil {
			return ArrivalModel{}, err
		}
		think, err := a.duration("think", 0)
		if err != nil {
			return ArrivalModel{}, err
		}
		return Sessions(n, think, a.text("seed", DefaultSeed))
	},
})

const maxSessions = 100_000

type sessions struct {
	n    int
	mean time.Duration
	seed string
}

// Sessions is a closed loop: n sessions, each of which sends its next request
// after its last answer has ended and an exponential think time of the given mean
// has passed. With think time each session begins in think, which is the
// stationary start for the exponential law; without it all begin at once.
func Sessions(n int, meanThink time.Duration, seed string) (ArrivalModel, error) {
	switch {
	case n < 1 || n > maxSessions:
		return ArrivalModel{}, fmt.Errorf("%d sessions: want 1 to %d", n, maxSessions)
	case meanThink < 0 || meanThink > 24*time.Hour:
		return ArrivalModel{}, fmt.Errorf("a mean think time of %v: want 0 to 24h", meanThink)
	}
	if err := checkSeed(seed); err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{sessions{n, meanThink, seed}}, nil
}

func (sessions) kind() string { return "sessions" }

func (s sessions) String() string {
	people := "1 session"
	if s.n != 1 {
		people = fmt.Sprintf("%d sessions", s.n)
	}
	if s.mean == 0 {
		return "closed loop, " + people + ", no think time"
	}
	return fmt.Sprintf("closed loop, %s, think time exponential with mean %v, seed %q", people, s.mean, s.seed)
}

func (s sessions) label() string {
	if s.mean == 0 {
		return fmt.Sprintf("sessions:n=%d", s.n)
	}
	return fmt.Sprintf("sessions:n=%d,think=%v", s.n, s.mean)
}

func (s sessions) spec() any {
	return struct {
		Sessions int    `json:"sessions"`
		ThinkNS  int64  `json:"mean_think_ns"`
		Seed     string `json:"seed"`
	}{s.n, int64(s.mean), s.seed}
}

func (s sessions) sessions() int { return s.n }

func (s sessions) think(session int) func() time.Duration {
	st := newStream(s.seed, "think", session)
	return func() time.Duration { return time.Duration(st.exponential(float64(s.mean))) }
}
