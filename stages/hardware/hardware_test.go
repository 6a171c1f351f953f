package hardware

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/gates/gatetest"
	"infbench/record"
	"infbench/stages/endpoint/endpointtest"
	"infbench/stages/hardware/arch"
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
		if !ofCode(c.ID) && c.ID != "hardware/log" {
			asking = append(asking, c)
		}
	}
	gatetest.Run(t, asking, func(t *testing.T, fixture *txtar.Archive) Subject {
		streams, _ := strconv.Atoi(gatetest.Field(fixture, "streams"))
		return Subject{
			Endpoint: endpointtest.Open(t, fixture), Device: gatetest.Field(fixture, "named"), Auto: gatetest.Field(fixture, "auto") != "",
			Host: hostOf(t, gatetest.Field(fixture, "here"), gatetest.Field(fixture, "place")), Streams: streams, Limit: 10 * time.Minute,
		}
	})
}

// hostOf returns a host with accelerators such as "sm_90 x2, sm_89 x1"; the target is on it
// unless a place says otherwise.
func hostOf(t *testing.T, here, place string) record.Host {
	t.Helper()
	if here == "" && place == "" {
		return record.Host{}
	}
	p := record.HostParts{Target: record.Place(cmp.Or(place, "here")), CPU: record.HostCPU{Arch: "x86_64"}, Memory: record.HostMemory{Model: record.UnknownModel}}
	for kind := range strings.SplitSeq(here, ", ") {
		if name, n := arch.SplitCount(kind); name != "" {
			p.Accelerators = append(p.Accelerators, record.Accelerator{Name: "a card of " + name, Arch: name, Count: n})
		}
	}
	h, err := record.NewHost(p)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
