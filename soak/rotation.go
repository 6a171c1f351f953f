package soak

import (
	"context"
	"slices"
	"time"

	"infbench/gates"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
)

// claim is one check of stage 2 or 3 as a soak asks it.
type claim struct {
	id string
	// alone says that it judges an idle server: the load rests meanwhile.
	alone bool
	put   func(ctx context.Context, ep endpoint.Endpoint) gates.Verdict
}

// sameServer is asked first in each round: verdicts about two servers are about none.
const sameServer = "correctness/same-server"

// cheap is what a check of stage 3 may cost to be asked in each round. All others take
// turns, so that each comes within so many rounds.
const (
	cheap = 2 * time.Second
	turns = 3
)

// idle are the checks of stage 3 that judge an idle server, or compare one with a busy one.
// Those of stage 2 all do: what they say must hang on the hours and not on company.
var idle = []string{
	"correctness/determinism", "correctness/aborts", "correctness/batch-invariance", "correctness/uncached", "correctness/scores", "correctness/response-cache",
	"correctness/cold-warm", "correctness/parity",
}

// rotation returns what a round asks, in order: same-server, stage 2, stage 3. In a round
// that asks all nothing waits for its turn, and in the very first one stage 2 was just asked.
func (c *conductor) rotation(round int, all bool) []claim {
	var first, second, third []claim
	for i, check := range c.suite.smoke {
		if round > 1 && (all || i%turns == round%turns) {
			second = append(second, claim{check.ID, true, func(ctx context.Context, ep endpoint.Endpoint) gates.Verdict { return ask(ctx, c, check, ep) }})
		}
	}
	turn := 0
	for _, check := range c.suite.checks {
		one := claim{check.ID, slices.Contains(idle, check.ID), func(ctx context.Context, ep endpoint.Endpoint) gates.Verdict {
			return ask(ctx, c, check, c.on(ep))
		}}
		switch {
		case check.ID == sameServer:
			first = append(first, one)
		case all || check.Cost <= cheap:
			third = append(third, one)
		default:
			if turn%turns == round%turns {
				third = append(third, one)
			}
			turn++
		}
	}
	return slices.Concat(first, second, third)
}

// on returns the subject of stage 3 over another value of the endpoint.
func (c *conductor) on(ep endpoint.Endpoint) correctness.Subject {
	s := c.subject
	s.Endpoint = ep
	return s
}
