package smoke_test

import (
	"testing"

	"infbench/gates/gatetest"
	"infbench/stages/endpoint/endpointtest"
	"infbench/stages/smoke"
)

// Each check fires on its faults and is silent on the healthy engine.
func TestChecksBothWays(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, smoke.Checks(), endpointtest.Open)
}
