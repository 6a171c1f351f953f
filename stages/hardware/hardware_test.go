package hardware

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/gates/gatetest"
	"infbench/stages/endpoint/endpointtest"
)

// A first request of half a second is slow enough to prove the warning.
func TestMain(m *testing.M) {
	slowFirst = 300 * time.Millisecond
	os.Exit(m.Run())
}

// Each check that asks a server fires on its faults and is silent on the healthy
// engine; the checks of files have fixtures of their own kind.
func TestChecksBothWays(t *testing.T) {
	t.Parallel()
	var asking []gates.Check[Subject]
	for _, c := range Checks() {
		if c.ID != "hardware/kernels" && c.ID != "hardware/log" {
			asking = append(asking, c)
		}
	}
	gatetest.Run(t, asking, func(t *testing.T, fixture *txtar.Archive) Subject {
		streams, _ := strconv.Atoi(gatetest.Field(fixture, "streams"))
		return Subject{Endpoint: endpointtest.Open(t, fixture), Device: gatetest.Field(fixture, "named"), Streams: streams, Limit: 10 * time.Minute}
	})
}
