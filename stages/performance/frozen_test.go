package performance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/baseline"
	"infbench/internal/batching"
	"infbench/internal/refengine"
	"infbench/record"
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
	perf := perfOf(t, s)
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

// sideOn measures a suite on an engine of the given price list, on virtual time.
func sideOn(t *testing.T, run string, cost batching.Cost) baseline.Side {
	t.Helper()
	ep, _ := onVirtual(t, refengine.Config{Cost: cost, StepTokens: 1 << 16, KVBlocks: 1 << 14})
	suite, err := baseline.NewSuite("depths", "test", 5, baseline.Depth{PromptTokens: 128, MaxTokens: 4}, baseline.Depth{PromptTokens: 1024, MaxTokens: 4}, baseline.Depth{PromptTokens: 4096, MaxTokens: 4}, baseline.Depth{PromptTokens: 8192, MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	s, err := MeasureFrozen(t.Context(), ep, proof(t), suite, "", Config{Seed: 1, Grace: time.Second}, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return sideOf(t, run, s)
}

// What was changed in the engine is what compare names: the price of a step, that of a prompt's
// token, or that of a token attended to.
func TestCompareNamesWhatWasChangedInTheEngine(t *testing.T) {
	t.Parallel()
	list := batching.Cost{Base: 20 * time.Millisecond, PerPrefillToken: 100_000, PerSequence: 50_000, PerKVToken: 20}
	for name, c := range map[string]struct {
		change func(*batching.Cost)
		metric string
		want   baseline.Verdict
		part   string
	}{
		"a prompt's token a tenth dearer": {func(l *batching.Cost) { l.PerPrefillToken *= 1.1 }, baseline.ColdPrefill, baseline.Slower, "per-token cost"},
		"a step dearer by 10 ms":          {func(l *batching.Cost) { l.Base += 10 * time.Millisecond }, baseline.ColdPrefill, baseline.Slower, "fixed overhead"},
		"a prompt's token cheaper":        {func(l *batching.Cost) { l.PerPrefillToken *= 0.8 }, baseline.ColdPrefill, baseline.Faster, "per-token cost"},
		"attention thrice as dear":        {func(l *batching.Cost) { l.PerKVToken *= 3 }, baseline.Generation, baseline.Slower, "per-token cost"},
		"nothing":                         {func(*batching.Cost) {}, baseline.ColdPrefill, baseline.NoChange, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				after := list
				c.change(&after)
				cmp := baseline.Compare(sideOn(t, "20260102T030405Z-00000001", list), sideOn(t, "20260102T030405Z-00000002", after))
				if len(cmp.Refused) > 0 {
					t.Fatalf("refused: %v", cmp.Refused)
				}
				for _, m := range cmp.Metrics {
					if m.Name != c.metric {
						continue
					}
					if m.Verdict != c.want || !strings.HasPrefix(m.Part.Part, c.part) {
						t.Errorf("%s (%s), made of %q: %+v", m.Verdict, m.Why, m.Part.Part, m.Part)
					}
				}
			})
		})
	}
}
