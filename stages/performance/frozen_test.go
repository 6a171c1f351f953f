package performance

import (
	"context"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/baseline"
	"infbench/record"
	"infbench/record/recordtest"
	"infbench/stages/endpoint/endpointtest"
)

func small(t *testing.T) baseline.Suite {
	t.Helper()
	s, err := baseline.NewSuite("small", "test", 2, baseline.Depth{PromptTokens: 96, MaxTokens: 4}, baseline.Depth{PromptTokens: 400, MaxTokens: 8})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func frozenRecord(t *testing.T, engine string, c Config) record.Baseline {
	t.Helper()
	s, err := MeasureFrozen(t.Context(), endpointtest.Open(t, &txtar.Archive{Comment: []byte(engine)}), proof(t), small(t), "", c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
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
	if _, ok := perf.Levels()[0].Figures.TTFT.P50().Value(); ok {
		t.Error("the level of a suite has a TTFT over requests of all lengths")
	}
	b, ok := perf.Baseline()
	if !ok {
		t.Fatal("the record is no baseline")
	}
	return b
}

func TestASuiteIsSentColdAndThenWarm(t *testing.T) {
	t.Parallel()
	b := frozenRecord(t, "", quick())
	if len(b.Measured) != 4 {
		t.Fatalf("%d cells, want two depths, cold and warm", len(b.Measured))
	}
	for i, c := range b.Measured {
		want := small(t).Depths()[i/2]
		if c.TrueTokens != want.PromptTokens || c.MaxTokens != want.MaxTokens || c.Warm != (i%2 == 1) || !c.Proven {
			t.Errorf("cell %d: %+v", i, c.Cell)
		}
		if len(c.Repeats) != 2 {
			t.Fatalf("cell %d: %d repeats", i, len(c.Repeats))
		}
		for _, r := range c.Repeats {
			if n := r.Prompt.Or(0); !r.Good || n != want.PromptTokens || r.OutputTokens != want.MaxTokens || r.TTFT <= 0 || r.TPOT <= 0 {
				t.Errorf("cell %d: %+v", i, r)
			}
		}
	}
}

func TestWithoutACacheNothingIsProvenWarm(t *testing.T) {
	t.Parallel()
	for engine, proven := range map[string][]bool{"engine: no-prefix-cache": {true, false, true, false}, "engine: no-cached-count": {false, false, false, false}} {
		b := frozenRecord(t, engine, quick())
		var got []bool
		for _, c := range b.Measured {
			got = append(got, c.Proven)
		}
		if !slices.Equal(got, proven) {
			t.Errorf("%s: proven %v, want %v", engine, got, proven)
		}
	}
}

func TestASuiteThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	turns := 0
	c := quick()
	c.Turn = func() error {
		if turns++; turns == 3 { // the level's, the first repeat's, the second's
			stop()
		}
		return nil
	}
	s, err := MeasureFrozen(ctx, endpointtest.Open(t, &txtar.Archive{}), proof(t), small(t), "", c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	if s.Stopped() == "" {
		t.Error("a suite of which half was sent is taken for a whole one")
	}
}
