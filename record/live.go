package record

import (
	"fmt"
	"io"
	"maps"
	"time"

	"infbench/arrival"
	"infbench/gates"
)

// LiveParts is what a [Live] is made of: counts of the requests of a level so far, and
// medians over the good ones.
type LiveParts struct {
	// Running is the time since the level began.
	Running time.Duration
	// Issued requests were started and InFlight of them are not answered yet;
	// InFlightMean is the mean of that over Running.
	Issued, InFlight int
	InFlightMean     float64
	// Good and Failed count the answered ones. Counted of the good ones are no warm-up:
	// over those are the medians.
	Good, Counted int
	Failed        map[Outcome]int
	// TTFT is as in [Figures], and so are TokensPerSecond of one stream and its
	// DepthTokens; Rated is the number of requests that had a rate.
	TTFT            time.Duration
	Rated           int
	TokensPerSecond float64
	DepthTokens     int
	// RatesWithheld says why no rate may be made, such as tokens that were not counted.
	RatesWithheld string
}

// Live is a look at a level that is still being measured: for a person who waits, never
// for a file. It has no mouth of its own, like [Level], and cannot be had without the
// proof and the arrival model. The zero Live is nothing and gives no figure.
type Live struct {
	arrival arrival.ArrivalModel
	parts   LiveParts
}

// NewLive returns the look, or an [*UngatedResultError] or [*UnmodelledArrivalError].
func NewLive(g gates.GateSet, a arrival.ArrivalModel, p LiveParts) (Live, error) {
	switch {
	case !g.Satisfied():
		return Live{}, &UngatedResultError{Reason: "live figures need a satisfied gate set"}
	case a.IsZero():
		return Live{}, &UnmodelledArrivalError{Reason: "live figures have none"}
	}
	p.Failed = maps.Clone(p.Failed)
	return Live{a, p}, nil
}

// IsZero reports whether it is nothing.
func (l Live) IsZero() bool { return l.arrival.IsZero() }

// Arrival returns how the load of the level arrives.
func (l Live) Arrival() arrival.ArrivalModel { return l.arrival }

// Running returns the time since the level began.
func (l Live) Running() time.Duration { return l.parts.Running }

// Issued returns the number of requests that were started.
func (l Live) Issued() int { return l.parts.Issued }

// InFlight returns the number of requests that are being answered.
func (l Live) InFlight() int { return l.parts.InFlight }

// Good returns the number of good answers, warm-up included.
func (l Live) Good() int { return l.parts.Good }

// Failed returns the number of requests that came to no good end.
func (l Live) Failed() int {
	n := 0
	for _, k := range l.parts.Failed {
		n += k
	}
	return n
}

// void says why nothing is said of speed: what would void the level voids the look at it.
func (l Live) void() string {
	for _, o := range outcomes {
		if n := l.parts.Failed[o]; n > 0 && o != Rejected && o != Cancelled {
			return fmt.Sprintf("%d of %d answers were %s: the level is void", n, l.Good()+l.Failed(), o)
		}
	}
	return ""
}

// TTFT returns the median so far, or why there is none.
func (l Live) TTFT() Estimate {
	switch why := l.void(); {
	case l.IsZero():
		return Estimate{withheld: "nothing is measured"}
	case why != "":
		return Estimate{withheld: why}
	case l.parts.Counted < 2:
		return Estimate{withheld: fmt.Sprintf("n=%d, p50 needs 2", l.parts.Counted)}
	}
	return Estimate{value: l.parts.TTFT}
}

// Decode returns the median of one stream's rate so far with its depth and company, or why
// there is none.
func (l Live) Decode() DecodeRate {
	switch why := l.void(); {
	case l.IsZero():
		return DecodeRate{Rate: Rate{withheld: "nothing is measured"}}
	case why != "":
		return DecodeRate{Rate: Rate{withheld: why}}
	case l.parts.RatesWithheld != "":
		return DecodeRate{Rate: Rate{withheld: l.parts.RatesWithheld}}
	case l.parts.Rated < 2:
		return DecodeRate{Rate: Rate{withheld: fmt.Sprintf("n=%d, a median needs 2", l.parts.Rated)}}
	}
	return DecodeRate{Rate{perSecond: l.parts.TokensPerSecond}, l.parts.DepthTokens, l.parts.InFlightMean}
}

// MarshalJSON always refuses: what a level comes to is written when it has ended, by a
// performance record.
func (l Live) MarshalJSON() ([]byte, error) {
	return nil, &UngatedResultError{Reason: "live figures are shown and never written"}
}

// Format prints the same words for every verb, so that no number slips out.
func (l Live) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "a level that is being measured")
}
