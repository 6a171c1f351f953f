package arrival

import (
	"encoding/json"
	"fmt"
	"time"
)

var _ = register(kind{
	name:  "constant",
	usage: "constant:rate=2",
	decode: func(raw json.RawMessage) (ArrivalModel, error) {
		var w struct {
			Kind string  `json:"kind"`
			Rate float64 `json:"requests_per_second"`
		}
		if err := strict(raw, &w); err != nil {
			return ArrivalModel{}, err
		}
		return Constant(w.Rate)
	},
	parse: func(a arguments) (ArrivalModel, error) {
		r, err := a.rate("rate")
		if err != nil {
			return ArrivalModel{}, err
		}
		return Constant(r)
	},
})

// The rates that a model may have, in requests per second. Below the least the
// first gap exceeds a day; above the most no client is honest.
const minRate, maxRate = 1e-5, 1e6

func checkRate(r float64) error {
	if !(r >= minRate && r <= maxRate) { // also refuses NaN
		return fmt.Errorf("a rate of %v requests per second: want %v to %v", r, minRate, maxRate)
	}
	return nil
}

type constant struct{ rate float64 }

// Constant is an open loop with equal gaps of 1/rate seconds; the first request is
// due after one gap.
func Constant(requestsPerSecond float64) (ArrivalModel, error) {
	if err := checkRate(requestsPerSecond); err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{constant{requestsPerSecond}}, nil
}

func (constant) kind() string { return "constant" }

func (c constant) String() string { return fmt.Sprintf("open loop, constant %g requests/s", c.rate) }

func (c constant) label() string { return fmt.Sprintf("constant:rate=%g", c.rate) }

func (c constant) spec() any {
	return struct {
		Rate float64 `json:"requests_per_second"`
	}{c.rate}
}

// gaps derives each due time from the count, so that rounding does not add up.
func (c constant) gaps() func() (time.Duration, bool) {
	var n int
	var last time.Duration
	return func() (time.Duration, bool) {
		n++
		due := time.Duration(float64(n) / c.rate * float64(time.Second))
		gap := due - last
		last = due
		return gap, true
	}
}
