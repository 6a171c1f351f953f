package arrival

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

var _ = register(kind{
	name:  "ramp",
	usage: "ramp:from=1,to=10,over=60s,seed=NAME",
	decode: func(raw json.RawMessage) (ArrivalModel, error) {
		var w struct {
			Kind   string  `json:"kind"`
			From   float64 `json:"from_requests_per_second"`
			To     float64 `json:"to_requests_per_second"`
			OverNS int64   `json:"over_ns"`
			Seed   string  `json:"seed"`
		}
		if err := strict(raw, &w); err != nil {
			return ArrivalModel{}, err
		}
		return Ramp(w.From, w.To, time.Duration(w.OverNS), w.Seed)
	},
	parse: func(a arguments) (ArrivalModel, error) {
		from, err := a.rate("from")
		if err != nil {
			return ArrivalModel{}, err
		}
		to, err := a.rate("to")
		if err != nil {
			return ArrivalModel{}, err
		}
		over, err := a.duration("over", 0)
		if err != nil {
			return ArrivalModel{}, err
		}
		return Ramp(from, to, over, a.text("seed", DefaultSeed))
	},
})

type ramp struct {
	from, to float64
	over     time.Duration
	seed     string
}

// Ramp is an open loop whose rate goes from one value to another in a straight line and
// then stays there; what ends it is the run's own limit. It is a Poisson process at every
// rate on the way, since users who come one by one do not space themselves evenly. The
// first rate may be 0.
//
// With the expected count Λ(t) = from·t + (to−from)·t²/(2·over) up to over, the nth request
// is due at Λ⁻¹ of the sum of n exponential draws of mean 1.
func Ramp(fromPerSecond, toPerSecond float64, over time.Duration, seed string) (ArrivalModel, error) {
	if fromPerSecond != 0 {
		if err := checkRate(fromPerSecond); err != nil {
			return ArrivalModel{}, err
		}
	}
	if over <= 0 || over > 24*time.Hour {
		return ArrivalModel{}, fmt.Errorf("a ramp over %v: want more than 0 and at most 24h", over)
	}
	for _, err := range []error{checkRate(toPerSecond), checkSeed(seed)} {
		if err != nil {
			return ArrivalModel{}, err
		}
	}
	return ArrivalModel{ramp{fromPerSecond, toPerSecond, over, seed}}, nil
}

func (ramp) kind() string { return "ramp" }

func (r ramp) String() string {
	return fmt.Sprintf("open loop, Poisson from %g to %g requests/s over %v, then %g, seed %q", r.from, r.to, r.over, r.to, r.seed)
}

func (r ramp) label() string { return fmt.Sprintf("ramp:from=%g,to=%g,over=%v", r.from, r.to, r.over) }

func (r ramp) spec() any {
	return struct {
		From   float64 `json:"from_requests_per_second"`
		To     float64 `json:"to_requests_per_second"`
		OverNS int64   `json:"over_ns"`
		Seed   string  `json:"seed"`
	}{r.from, r.to, int64(r.over), r.seed}
}

// at returns when so many requests are expected to have come, in seconds: Λ⁻¹, in the
// form of the quadratic's root that loses no digits when the rates are close.
func (r ramp) at(count float64) float64 {
	over := r.over.Seconds()
	whole := (r.from + r.to) / 2 * over
	if count > whole {
		return over + (count-whole)/r.to
	}
	slope := (r.to - r.from) / over
	return 2 * count / (r.from + math.Sqrt(max(0, r.from*r.from+2*slope*count)))
}

func (r ramp) gaps() func() (time.Duration, bool) {
	s := newStream(r.seed, "arrival", 0)
	var count float64
	var last time.Duration
	return func() (time.Duration, bool) {
		count += s.exponential(1)
		due := span(r.at(count))
		gap := due - last
		last = due
		return gap, true
	}
}
