package correctness_test

import (
	"testing"

	"infbench/gates/gatetest"
	"infbench/stages/correctness"
	"infbench/stages/endpoint/endpointtest"
)

// Each check fires on its faults and is silent on the healthy engine.
func TestChecksBothWays(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, correctness.Checks(), endpointtest.Open)
}
