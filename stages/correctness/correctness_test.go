package correctness_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates/gatetest"
	"infbench/stages/correctness"
	"infbench/stages/endpoint/endpointtest"
)

// Each check fires on its faults and is silent on the healthy engine.
func TestChecksBothWays(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, correctness.Checks(), open)
}

func open(t *testing.T, fixture *txtar.Archive) correctness.Subject {
	t.Helper()
	s, err := correctness.Open(t.Context(), endpointtest.Open(t, fixture), correctness.Options{Budget: correctness.QuickBudget})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
