package performance

import (
	"testing"

	"infbench/baseline"
	"infbench/gates"
	"infbench/internal/refengine"
	"infbench/record"
	"infbench/record/recordtest"
	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"
)

// proof is a satisfied gate set: Measure asks for one and does not look whom it is
// about, which the record does.
func proof(t *testing.T) gates.GateSet {
	t.Helper()
	required, verdicts := recordtest.Passing()
	g, err := recordtest.Ledger(recordtest.Identity("sha256:aa", "x"), required, verdicts).Gates()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// onVirtual serves the embedded engine without a socket, for tests on the clock of synctest.
func onVirtual(t *testing.T, c refengine.Config) (endpoint.Endpoint, *refengine.Engine) {
	t.Helper()
	e, err := refengine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	n := endpointtest.NewNetwork(t)
	n.Start(e)
	target, err := endpoint.ParseTarget("http://127.0.0.1:1", endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{Transport: n.Transport(), Seed: 1, InFlight: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ep.Close()
		n.Kill()
		_ = e.Close()
	})
	return ep, e
}

// perfOf returns the record of what was measured.
func perfOf(t *testing.T, s *Sweep) record.PerfRecord {
	t.Helper()
	m, err := s.Measurements()
	if err != nil {
		t.Fatal(err)
	}
	model, err := m.Arrival()
	if err != nil {
		t.Fatal(err)
	}
	perf, err := record.NewPerfRecord(recordtest.Identity("sha256:aa", "x"), proof(t), model, m)
	if err != nil {
		t.Fatal(err)
	}
	return perf
}

// sideOf returns a measured suite as one side of a comparison.
func sideOf(t *testing.T, run string, s *Sweep) baseline.Side {
	t.Helper()
	required, verdicts := recordtest.Passing()
	id := recordtest.Identity("sha256:aa", "x")
	parts := recordtest.Run(id, recordtest.Ledger(id, required, verdicts)).Parts()
	parts.ID = run
	r, err := record.NewRun(parts)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = r.With(perfOf(t, s)); err != nil {
		t.Fatal(err)
	}
	return baseline.NewSide(run, r)
}
