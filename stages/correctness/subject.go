package correctness

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// Options say how far stage 3 goes. The zero value is the default.
type Options struct {
	// Budget is the time for the whole stage; 0 means [DefaultBudget]. Checks go as deep as
	// their share of it allows, and never beyond what the server's context holds.
	Budget time.Duration
	// Reference is another server of the same weights to compare with; nil means none.
	Reference *endpoint.Endpoint
	// Precision is what the target's weights are declared to be, "" when nobody said.
	Precision string
	// Invariant says that the server is declared to answer the same in every batch.
	Invariant bool
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
	speeds, err := speedsOf(ctx, ep)
	if err != nil {
		return Subject{}, err
	}
	s := Subject{ep, o, speeds}
	if o.Stated != nil {
		o.Stated(s.Estimate())
	}
	return s, nil
}

// Reference returns the server to compare with, false where none was given.
func (s Subject) Reference() (endpoint.Endpoint, bool) {
	if s.options.Reference == nil {
		return endpoint.Endpoint{}, false
	}
	return *s.options.Reference, true
}

// Speeds returns what the sizes of the checks were derived from.
func (s Subject) Speeds() Speeds { return s.speeds }

var checks gates.Registry[Subject]

// Checks returns the checks of stage 3, cheapest first.
func Checks() []gates.Check[Subject] { return checks.All() }

// Infos returns the documentation of the checks.
func Infos() []gates.Info { return checks.Infos() }
