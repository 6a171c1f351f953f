package arrival

import (
	"fmt"
	"time"
)

// Start says how the sessions of a closed loop begin. It is part of the model, since it
// decides the first minutes: N sessions that all begin at once are N requests in flight,
// which a population that thinks never is. The zero Start is [StationaryStart] where there
// is think time and [StartAtOnce] where there is none.
type Start struct {
	rule startRule
	over time.Duration
}

type startRule int

const (
	startDefault startRule = iota
	startStationary
	startAtOnce
	startStaggered
)

// startRules are the rules as they are written.
var startRules = map[startRule]string{startStationary: "stationary", startAtOnce: "all-at-once", startStaggered: "staggered"}

// StationaryStart lets every session begin in the middle of a think time, as one would
// find it who looks at a random moment.
func StationaryStart() Start { return Start{rule: startStationary} }

// StartAtOnce lets every session send its first request at once.
func StartAtOnce() Start { return Start{rule: startAtOnce} }

// StaggeredStart lets the sessions begin one after another at equal distances, the first
// at once and the last just before the time given has passed. 0 is one mean think time.
func StaggeredStart(over time.Duration) Start { return Start{startStaggered, over} }

// settled returns the rule that is meant, given the think time, or an error.
func (s Start) settled(think Think) (Start, error) {
	switch s.rule {
	case startStationary:
		if think.IsZero() {
			return Start{}, fmt.Errorf("a stationary start without think time: want start=%s or %s", startRules[startAtOnce], startRules[startStaggered])
		}
	case startStaggered:
		if s.over == 0 {
			s.over = min(think.Mean(), maxThink)
		}
		if s.over <= 0 || s.over > maxThink {
			return Start{}, fmt.Errorf("a start staggered over %v: want more than 0 and at most 24h", s.over)
		}
	case startAtOnce:
	default:
		s = usualStart(think)
	}
	return s, nil
}

// usualStart is the rule of a model that names none.
func usualStart(think Think) Start {
	if think.IsZero() {
		return StartAtOnce()
	}
	return StationaryStart()
}

// parseStart reads a rule as it is written; "" is none.
func parseStart(text string, over time.Duration) (Start, error) {
	if over != 0 && text != startRules[startStaggered] {
		return Start{}, fmt.Errorf("over=%v belongs to start=%s", over, startRules[startStaggered])
	}
	if text == "" {
		return Start{}, nil
	}
	for rule, name := range startRules {
		if name == text {
			return Start{rule, over}, nil
		}
	}
	return Start{}, fmt.Errorf("start=%.30q: want stationary, all-at-once or staggered", text)
}

func (s Start) String() string {
	switch s.rule {
	case startStationary:
		return "stationary start"
	case startAtOnce:
		return "all start at once"
	case startStaggered:
		return fmt.Sprintf("starts staggered over %v", s.over)
	default:
		return "the usual start"
	}
}

// first returns when a session sends its first request.
func (s Start) first(session, of int, think Think, seed string, usual stream) time.Duration {
	switch s.rule {
	case startStationary:
		if _, memoryless := think.law.(exponentialThink); memoryless {
			return think.law.draw(usual) // the first of its ordinary draws, as records before this rule have it
		}
		return think.law.residual(newStream(seed, "start", session))
	case startStaggered:
		return time.Duration(float64(s.over) * float64(session) / float64(of))
	default:
		return 0
	}
}
