package correctness_test

import (
	"context"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates/gatetest"
	"infbench/stages/correctness"
	"infbench/stages/correctness/parity"
	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"
)

// Each check fires on its faults and is silent on the healthy engine.
func TestChecksBothWays(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, correctness.Checks(), open)
}

func open(t *testing.T, fixture *txtar.Archive) correctness.Subject {
	t.Helper()
	o := correctness.Options{Budget: correctness.QuickBudget, Speeds: correctness.EmbeddedSpeeds}
	if reference, ok := endpointtest.Reference(t, fixture); ok {
		o.Reference = func(context.Context) (endpoint.Endpoint, error) { return reference, nil }
	}
	if d, err := time.ParseDuration(gatetest.Field(fixture, "budget")); err == nil {
		o.Budget = d
	}
	if name := gatetest.Field(fixture, "precision"); name != "" {
		var err error
		if o.Claim.Precision, err = parity.ParsePrecision(name); err != nil {
			t.Fatal(err)
		}
	}
	s, err := correctness.Open(t.Context(), endpointtest.Open(t, fixture), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A longer budget asks more of a slow server and of a quick one, which does not use the
// shorter budgets up.
func TestBudgetScales(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	for _, speeds := range []correctness.Speeds{correctness.EmbeddedSpeeds, {Prefill: 1e6, Decode: 1e6, Fixed: time.Millisecond}, {Prefill: 2000, Decode: 40, Fixed: 50 * time.Millisecond}} {
		var before correctness.Estimate
		for _, budget := range []time.Duration{correctness.QuickBudget, correctness.DefaultBudget, 3 * correctness.DefaultBudget, 12 * correctness.DefaultBudget} {
			var stated correctness.Estimate
			if _, err := correctness.Open(t.Context(), ep, correctness.Options{Budget: budget, Speeds: speeds, Stated: func(e correctness.Estimate) { stated = e }}); err != nil {
				t.Fatal(err)
			}
			if stated.Requests <= before.Requests || stated.PromptTokens <= before.PromptTokens || stated.Budget != budget {
				t.Errorf("%+v: %v, and with the budget before %v", speeds, stated, before)
			}
			before = stated
		}
	}
}
