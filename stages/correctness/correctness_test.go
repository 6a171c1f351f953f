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
