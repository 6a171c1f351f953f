package arrival

import (
	"encoding/json"
	"fmt"
	"time"
)

var _ = register(kind{
	name:  "poisson",
	usage: "poisson:rate=1.5,seed=NAME",
	decode: func(raw json.RawMessage) (ArrivalModel, error) {
		var w struct {
			Kind string  `json:"kind"`
			Rate float64 `json:"requests_per_second"`
			Seed string  `json:"seed"`
		}
		if err := strict(raw, &w); err != nil {
			return ArrivalModel{}, err
		}
		return Poisson(w.Rate, w.Seed)
	},
	parse: func(a arguments) (ArrivalModel, error) {
		r, err := a.rate("rate")
		if err != nil {
			return ArrivalModel{}, err
		}
		return Poisson(r, a.text("seed", DefaultSeed))
	},
})

type poisson struct {
	rate float64
	seed string
}

// Poisson is an open loop with independent exponential gaps of mean 1/rate. The
// realised rate of a finite run differs from the nominal one; gaps are never
// rescaled to hide it, since a rescaled sequence is no Poisson process.
func Poisson(requestsPerSecond float64, seed string) (ArrivalModel, error) {
	if err := checkRate(requestsPerSecond); err != nil {
		return ArrivalModel{}, err
	}
	if err := checkSeed(seed); err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{poisson{requestsPerSecond, seed}}, nil
}

func checkSeed(seed string) error {
	if seed == "" || len(seed) > 100 {
		return fmt.Errorf("a seed of %d bytes: want 1 to 100", len(seed))
	}
	return nil
}

func (poisson) kind() string { return "poisson" }

func (p poisson) String() string {
	return fmt.Sprintf("open loop, Poisson %g requests/s, seed %q", p.rate, p.seed)
}

func (p poisson) label() string { return fmt.Sprintf("poisson:rate=%g", p.rate) }

func (p poisson) spec() any {
	return struct {
		Rate float64 `json:"requests_per_second"`
		Seed string  `json:"seed"`
	}{p.rate, p.seed}
}

func (p poisson) gaps() func() (time.Duration, bool) {
	s := newStream(p.seed, "arrival", 0)
	return func() (time.Duration, bool) {
		return span(s.exponential(1 / p.rate)), true
	}
}
