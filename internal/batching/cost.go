package batching

import (
	"errors"
	"time"
)

// A Cost is the price list of one engine step. The prices are nanoseconds as
// floats, because the price of one KV token is far below a nanosecond's worth of
// rounding once it is multiplied by a long context.
//
//	step = Base + prefill·PerPrefillToken + decodes·PerSequence + attended·PerKVToken
type Cost struct {
	Base            time.Duration // of any step: launches, sampling, the weights read once
	PerPrefillToken float64       // ns for each prompt token computed
	PerSequence     float64       // ns for each sequence that decodes one token
	PerKVToken      float64       // ns for each KV token that some sequence attends to
}

// DefaultCost gives about 10 ms for a prompt of 500 tokens and 2 ms for a token
// after it; at a depth of 30,000 tokens a token takes about 2.6 ms.
func DefaultCost() Cost {
	return Cost{
		Base:            1900 * time.Microsecond,
		PerPrefillToken: 16_000,
		PerSequence:     50_000,
		PerKVToken:      20,
	}
}

// Validate refuses negative prices and a list on which everything is free: a
// step without duration would let the owner of the clock spin.
func (c Cost) Validate() error {
	if c.Base < 0 || c.PerPrefillToken < 0 || c.PerSequence < 0 || c.PerKVToken < 0 {
		return errors.New("step cost: a price is negative")
	}
	if c.Base == 0 && (c.PerPrefillToken == 0 || c.PerSequence == 0) {
		return errors.New("step cost: a step would take no time")
	}
	return nil
}

// Of returns how long the step takes.
func (c Cost) Of(s Step) time.Duration {
	ns := float64(s.prefill)*c.PerPrefillToken +
		float64(s.decodes)*c.PerSequence +
		float64(s.attended)*c.PerKVToken
	return c.Base + time.Duration(ns)
}
