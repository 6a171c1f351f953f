package performance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/arrival"
	"infbench/gates"
	"infbench/gates/gatetest"
	"infbench/record"
	"infbench/stages/endpoint/endpointtest"
)

func quick() Config {
	return Config{PromptTokens: 64, OutputTokens: 24, PerLevel: 400 * time.Millisecond, Seed: 1, Grace: time.Second}
}

func sweepOf(t *testing.T, texts ...string) arrival.ArrivalModel {
	t.Helper()
	var models []arrival.ArrivalModel
	for _, text := range texts {
		m, err := arrival.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	s, err := arrival.Sweep(models...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each check fires on its faults and is silent on the healthy engine.
func TestChecksBothWays(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, Checks(), func(t *testing.T, fixture *txtar.Archive) *Sweep {
		levels := []string{"sessions:n=1", "sessions:n=3"}
		if a := gatetest.Field(fixture, "arrival"); a != "" {
			levels = []string{a}
		}
		c := quick()
		if d, err := time.ParseDuration(gatetest.Field(fixture, "lasts")); err == nil {
			c.PerLevel = d
		}
		c.late, _ = time.ParseDuration(gatetest.Field(fixture, "late"))
		s, err := Measure(t.Context(), endpointtest.Open(t, fixture), proof(t), sweepOf(t, levels...), c, func(Progress) {})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestMeasureRefusesWithoutProofOrModel(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	var ungated *record.UngatedResultError
	if _, err := Measure(t.Context(), ep, gates.GateSet{}, sweepOf(t, "sessions:n=1"), quick(), func(Progress) {}); !errors.As(err, &ungated) {
		t.Errorf("without gates: %v", err)
	}
	var unmodelled *record.UnmodelledArrivalError
	if _, err := Measure(t.Context(), ep, proof(t), arrival.ArrivalModel{}, quick(), func(Progress) {}); !errors.As(err, &unmodelled) {
		t.Errorf("without a model: %v", err)
	}
	if n := ep.Requests(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAGarbageLevelHasNoSpeed(t *testing.T) {
	t.Parallel()
	fixture := &txtar.Archive{Comment: []byte("fault: salad:above=1\n")}
	s, err := Measure(t.Context(), endpointtest.Open(t, fixture), proof(t), sweepOf(t, "sessions:n=1", "sessions:n=3"), quick(), func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	levels := perfOf(t, s).Levels()
	if levels[1].Void == nil {
		t.Fatal("the level with salad is not void")
	}
	if _, ok := levels[1].Figures.Decode.PerSecond(); ok {
		t.Error("the level with salad has a decode rate")
	}
	if _, ok := levels[1].Figures.TTFT.P50().Value(); ok {
		t.Error("the level with salad has a TTFT")
	}
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	s, err := Measure(ctx, endpointtest.Open(t, &txtar.Archive{}), proof(t), sweepOf(t, "sessions:n=1", "sessions:n=2", "sessions:n=3"), quick(), func(p Progress) {
		if p.Finished && p.Index == 0 {
			stop(gates.ErrStopped)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Stopped() != "interrupted" || len(s.levels) != 1 {
		t.Errorf("stopped %q with %d levels, want interrupted with 1", s.Stopped(), len(s.levels))
	}
	if _, err := s.Measurements(); err != nil {
		t.Error(err)
	}
}
