package correctness

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/correctness/parity"
	"infbench/stages/endpoint"
)

// Options say how far stage 3 goes. The zero value is the default.
type Options struct {
	// Budget is the time for the whole stage; 0 means [DefaultBudget]. Checks go as deep as
	// their share of it allows, and never beyond what the server's context holds.
	Budget time.Duration
	// Reference opens another server of the same weights to compare with, once it is
	// needed; nil means none.
	Reference func(context.Context) (endpoint.Endpoint, error)
	// Claim is what the target's numbers are declared to be, beside that reference.
	Claim parity.Claim
	// Invariant says that the server is declared to answer the same in every batch.
	Invariant bool
	// Speeds are those of a server that is known; the zero Speeds are measured. The checks are
	// then sized by them alone and take the time they need: what is asked does not depend on
	// how busy the machine is.
	Speeds Speeds
	// LoadTokens is how long the prompts of the load will be that stage 4 brings, 0 where none
	// comes.
	LoadTokens int
	// Stated, if not nil, is told what the stage is going to cost before it begins.
	Stated func(Estimate)
}

// Subject is what stage 3 looks at: an endpoint, and how far to go with it.
type Subject struct {
	endpoint.Endpoint
	options Options
	speeds  Speeds
}

// Open measures how fast the endpoint answers one request, sizes the checks by it, and
// states what they will cost.
func Open(ctx context.Context, ep endpoint.Endpoint, o Options) (Subject, error) {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	speeds, err := speedsOf(ctx, ep) // which also tells whether it answers at all
	if err != nil {
		return Subject{}, err
	}
	if o.Speeds != (Speeds{}) {
		speeds = o.Speeds
	}
	s := Subject{ep, o, speeds}
	if o.Stated != nil {
		o.Stated(s.Estimate())
	}
	return s, nil
}

// HasReference reports whether there is a server to compare with.
func (s Subject) HasReference() bool { return s.options.Reference != nil }

// Reference opens the server to compare with. There must be one.
func (s Subject) Reference(ctx context.Context) (endpoint.Endpoint, error) {
	return s.options.Reference(ctx)
}

// Claim returns what the target's numbers are declared to be.
func (s Subject) Claim() parity.Claim { return s.options.Claim }

var checks gates.Registry[Subject]

// Checks returns the checks of stage 3, cheapest first.
func Checks() []gates.Check[Subject] { return checks.All() }

// Infos returns the documentation of the checks.
func Infos() []gates.Info { return checks.Infos() }
