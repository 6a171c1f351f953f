//go:build engine

package performance

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"infbench/baseline"
	"infbench/internal/realengine"
	"infbench/stages/endpoint"
)

// realSide measures a small suite on a real server of its own. The proof is made up: this is a
// test of comparing, and its numbers leave it by the log alone.
func realSide(t *testing.T, run int, o realengine.Options) baseline.Side {
	t.Helper()
	o.Slots, o.Context, o.Tools = 1, 4096, true
	s := realengine.Start(t, o)
	defer s.Kill()
	target, err := endpoint.ParseTarget(s.URL, endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{Seed: 1, InFlight: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	suite, err := baseline.NewSuite("small", "test", 5, baseline.Depth{PromptTokens: 96, MaxTokens: 24}, baseline.Depth{PromptTokens: 384, MaxTokens: 24}, baseline.Depth{PromptTokens: 1024, MaxTokens: 24})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := DefaultConfig()
	sweep, err := MeasureFrozen(t.Context(), ep, proof(t), suite, "", c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("run %d: %v, void %v", run, time.Since(began).Round(time.Second), sweep.levels[0].void)
	return sideOf(t, fmt.Sprintf("20260102T030405Z-%08x", run), sweep)
}

// An unchanged server that was started again has not changed; half of its threads, or no
// prefix cache, is told, and by its name. INFBENCH_COMPARE says how many pairs are compared:
// this takes minutes each, and a machine that does nothing else.
func TestRealEngineCompare(t *testing.T) {
	pairs, _ := strconv.Atoi(os.Getenv("INFBENCH_COMPARE"))
	if pairs == 0 {
		t.Skip("INFBENCH_COMPARE=N compares N pairs of runs of one real server")
	}
	tell := func(what string, c baseline.Comparison) {
		for _, r := range c.Refused {
			t.Logf("%s: refused: %s", what, r)
		}
		for _, m := range c.Metrics {
			t.Logf("%s: %-16s %-20s %+6.1f %% (%+.1f to %+.1f), noise %.1f %%: %s; %s", what, m.Name, m.Verdict, 100*m.Change, 100*m.Low, 100*m.High, 100*m.Band, m.Why, m.Part.Part)
		}
	}
	verdictOf := func(c baseline.Comparison, name string) baseline.Verdict {
		for _, m := range c.Metrics {
			if m.Name == name {
				return m.Verdict
			}
		}
		return ""
	}
	var sides []baseline.Side
	alarms := 0
	for i := range pairs + 1 {
		sides = append(sides, realSide(t, i, realengine.Options{}))
		if i > 0 {
			c := baseline.Compare(sides[i-1], sides[i])
			tell(fmt.Sprintf("unchanged, pair %d", i), c)
			if c.Exit() > 1 {
				alarms++
			}
		}
	}
	// The stated rate is 5 % a pair, and more where the machine drifts.
	if alarms > 1+pairs/4 {
		t.Errorf("%d of %d comparisons of an unchanged server found a regression", alarms, pairs)
	}
	before := sides[len(sides)-1]
	half := baseline.Compare(before, realSide(t, 1000, realengine.Options{Threads: 1}))
	tell("half the threads", half)
	if v := verdictOf(half, baseline.ColdPrefill); v != baseline.Slower {
		t.Errorf("half the threads: cold prefill is %q", v)
	}
	cacheless := baseline.Compare(before, realSide(t, 1001, realengine.Options{NoCache: true}))
	tell("no prefix cache", cacheless)
	if v := verdictOf(cacheless, baseline.WarmPrefill); v != baseline.Slower && len(cacheless.Refused) == 0 {
		t.Errorf("no prefix cache: warm prefill is %q", v)
	}
}
