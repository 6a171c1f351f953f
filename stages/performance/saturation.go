package performance

import (
	"fmt"
	"slices"
	"time"

	"infbench/internal/trend"
	"infbench/record"
)

// overrun says why an open loop's load was more than the server can take, "" when it was
// not: TTFT rises from request to request, and the requests under way when the last one was
// started are many times those at the middle of the level. What is measured then depends
// on how long it was waited.
func overrun(p record.LevelParts) string {
	if !p.Arrival.Open() || p.Arrival.Requests() > 0 || len(p.Samples) < 20 {
		return ""
	}
	var ttft trend.Series
	for _, s := range p.Samples {
		if s.Outcome == record.OK {
			ttft.Add(s.Due.Seconds(), (s.First - s.Due).Seconds())
		}
	}
	if ttft.Len() < 20 {
		return ""
	}
	last := p.Samples[len(p.Samples)-1].Due
	end, middle := underWay(p.Samples, last), underWay(p.Samples, last/2)
	rises, _ := ttft.Against(0)
	if rises > 0.001 || end < 8 || end < 3*middle/2 || end*5 < len(p.Samples) {
		return ""
	}
	return fmt.Sprintf("%d of %d requests were under way when the last one was started, %d at half of the time, and TTFT rises from request to request", end, len(p.Samples), middle)
}

// underWay counts the requests that were due and not yet ended at an instant.
func underWay(samples []record.Sample, at time.Duration) int {
	n := 0
	for _, s := range samples {
		if s.Due <= at && s.End > at {
			n++
		}
	}
	return n
}

// The marks of a closed loop that has enough: twice the sessions give hardly more, and each
// waits nearly twice as long.
const (
	moreSessions = 2.0
	hardlyMore   = 1.03
	muchLonger   = 1.7
	// turnedAway is the share of rejected requests at which more load is no use.
	turnedAway = 0.5
)

// enough says why a level beyond the last one would only make people wait longer, "" where
// it may give more.
func (s *Sweep) enough() string {
	l := s.levels[len(s.levels)-1]
	if n := l.failed[record.Rejected]; float64(n) >= turnedAway*float64(l.issued) && n > 2 {
		return fmt.Sprintf("%d of %d requests were turned away at %s", n, l.issued, l.arrival)
	}
	if l.saturated != "" {
		return l.saturated
	}
	now, ok := paceOf(l)
	if !ok {
		return ""
	}
	for _, earlier := range s.levels[:len(s.levels)-1] {
		was, ok := paceOf(earlier)
		if ok && now.sessions >= moreSessions*was.sessions && now.perSecond <= hardlyMore*was.perSecond && now.wait >= muchLonger*was.wait {
			return fmt.Sprintf("%s brings hardly more tokens than %s, and each request takes %.1f times as long", l.arrival, earlier.arrival, now.wait/was.wait)
		}
	}
	return ""
}

// pace is how a closed level went, for the comparison with its neighbours alone: it is no
// figure, and is told as a ratio.
type pace struct{ sessions, perSecond, wait float64 }

func paceOf(l levelResult) (pace, bool) {
	if l.arrival.Sessions() == 0 || l.good < 2*l.arrival.Sessions() || len(l.void) > 0 || l.measuredFor <= 0 {
		return pace{}, false
	}
	waits := slices.Sorted(slices.Values(l.waits))
	return pace{float64(l.arrival.Sessions()), float64(l.tokens) / l.measuredFor.Seconds(), waits[len(waits)/2].Seconds()}, true
}
