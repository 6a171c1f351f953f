package stages_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"infbench/gates"
	"infbench/stages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type nothing struct{}

// check makes a check that runs f.
func check(id string, f func(context.Context) (gates.Finding, error)) gates.Check[nothing] {
	return gates.Check[nothing]{
		ID: id, Doc: "a test says so\n\nNothing.", Since: "0", Cost: time.Second, Faults: []string{"x"},
		Run: func(ctx context.Context, _ nothing) (gates.Finding, error) { return f(ctx) },
	}
}

func finds(f gates.Finding) func(context.Context) (gates.Finding, error) {
	return func(context.Context) (gates.Finding, error) { return f, nil }
}

func bind(t *testing.T, checks ...gates.Check[nothing]) stages.Stage {
	t.Helper()
	s, err := stages.Bind(nothing{}, checks)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func gated(t *testing.T, open func(context.Context, gates.GateSet) error) stages.Stage {
	t.Helper()
	s, err := stages.Gated(func(ctx context.Context, proof gates.GateSet, _ func(stages.Event)) (nothing, error) {
		return nothing{}, open(ctx, proof)
	}, []gates.Check[nothing]{check("performance/ttft", finds(gates.Pass("measured")))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func subject() gates.Subject {
	s, err := gates.NewSubject(gates.SubjectParts{Endpoint: "http://loopback:1"})
	if err != nil {
		panic(err)
	}
	return s
}

// cheap are stages 0 and 1 with nothing to look at.
func cheap(t *testing.T) []stages.Stage {
	t.Helper()
	var out []stages.Stage
	for _, id := range []string{"static/z", "hardware/z"} {
		s, err := stages.Skipped("nothing was given", []gates.Check[nothing]{check(id, nil)})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func plan(t *testing.T, list ...stages.Stage) stages.Plan {
	t.Helper()
	p, err := stages.NewPlan(subject, nil, list...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheaperStagesComeFirst(t *testing.T) {
	t.Parallel()
	static, smoke := bind(t, check("static/a", finds(gates.Pass("x")))), bind(t, check("smoke/a", finds(gates.Pass("x"))))
	hardware := bind(t, check("hardware/a", finds(gates.Pass("x"))))
	correctness := bind(t, check("correctness/a", finds(gates.Pass("x"))))
	measure := gated(t, func(context.Context, gates.GateSet) error { return nil })
	for name, list := range map[string][]stages.Stage{
		"dearer first":              {smoke, static},
		"twice":                     {smoke, smoke},
		"none":                      {},
		"an empty stage":            {{}},
		"measuring without smoke":   {static, hardware, correctness, measure},
		"measuring without stage 3": {static, hardware, smoke, measure},
		"measuring without stage 0": {hardware, smoke, correctness, measure},
		"measuring first":           {measure},
	} {
		if _, err := stages.NewPlan(subject, nil, list...); err == nil {
			t.Errorf("%s: a plan was made", name)
		}
	}
	if _, err := stages.NewPlan(subject, nil, static, hardware, smoke, correctness, measure); err != nil {
		t.Error(err)
	}
}

func TestOnlyMeasuringIsGated(t *testing.T) {
	t.Parallel()
	if _, err := stages.Bind(nothing{}, []gates.Check[nothing]{check("performance/a", finds(gates.Pass("x")))}); err == nil {
		t.Error("stage 4 was made without a gate")
	}
	if _, err := stages.Bind(nothing{}, []gates.Check[nothing]{check("smoke/a", finds(gates.Pass("x"))), check("static/a", finds(gates.Pass("x")))}); err == nil {
		t.Error("two stages in one")
	}
	if _, err := stages.Bind[nothing](nothing{}, nil); err == nil {
		t.Error("a stage without a check")
	}
}

func TestFirstFailureEndsTheRun(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	count := func(id string, f gates.Finding) gates.Check[nothing] {
		return check(id, func(context.Context) (gates.Finding, error) { asked[id]++; return f, nil })
	}
	p := plan(t,
		bind(t, count("static/a", gates.Pass("x"))),
		bind(t, count("hardware/a", gates.Pass("x"))),
		bind(t, count("smoke/a", gates.Fail("broken")), count("smoke/b", gates.Pass("x"))),
		bind(t, count("correctness/a", gates.Pass("x"))),
		gated(t, func(context.Context, gates.GateSet) error { asked["measured"]++; return nil }),
	)
	var notRun []string
	rep := p.Run(t.Context(), func(e stages.Event) {
		if n, ok := e.(stages.StageNotRun); ok {
			notRun = append(notRun, fmt.Sprintf("%d: %s", n.NotRun.Stage, n.NotRun.Why))
		}
	})
	if rep.Exit() != stages.ExitFailed {
		t.Errorf("exit %d, want 2", rep.Exit())
	}
	if asked["smoke/b"] != 1 {
		t.Error("inside a stage every check runs")
	}
	if asked["correctness/a"]+asked["measured"] != 0 {
		t.Error("a later stage ran")
	}
	if got := strings.Join(notRun, "; "); got != "3: stage 2 failed; 4: stage 2 failed" {
		t.Errorf("not run: %s", got)
	}
	ledger, err := rep.Ledger(subject())
	if err != nil {
		t.Fatal(err)
	}
	if _, why, ok := ledger.Outcome(gates.Performance); !ok || why != "not run: stage 2 failed" {
		t.Errorf("stage 4 in the ledger: %q", why)
	}
}

func TestMeasuringGetsTheProof(t *testing.T) {
	t.Parallel()
	var got gates.GateSet
	p := plan(t, append(cheap(t), bind(t, check("smoke/a", finds(gates.Pass("x")))), bind(t, check("correctness/a", finds(gates.Pass("x")))),
		gated(t, func(_ context.Context, proof gates.GateSet) error { got = proof; return nil }))...)
	// Two stages had nothing to look at: the proof stands, with caveats, and the exit is 1.
	if rep := p.Run(t.Context(), func(stages.Event) {}); rep.Exit() != stages.ExitWarnings || len(got.Caveats()) != 2 {
		t.Errorf("exit %d: %+v", rep.Exit(), rep.Results)
	}
	if !got.Satisfied() || got.Subject() != subject() {
		t.Errorf("the proof is %v", got)
	}
}

func TestSkippedIsNoProof(t *testing.T) {
	t.Parallel()
	p := plan(t, append(cheap(t), bind(t, check("smoke/a", finds(gates.Pass("x")))), bind(t, check("correctness/a", finds(gates.Skip("beyond this model")))),
		gated(t, func(context.Context, gates.GateSet) error { t.Error("measured without proof"); return nil }))...)
	rep := p.Run(t.Context(), func(stages.Event) {})
	if last := rep.Results[4]; !strings.Contains(last.NotRun, "no check of stage 3") {
		t.Errorf("stage 4: %+v", last)
	}
	if rep.Exit() != stages.ExitWarnings {
		t.Errorf("exit %d, want 1", rep.Exit())
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    gates.Finding
		want int
	}{
		"passed":         {gates.Pass("x"), 0},
		"not applicable": {gates.NotApply("x"), 0},
		"warned":         {gates.Warn("x"), 1},
		"skipped":        {gates.Skip("x"), 1},
		"failed":         {gates.Fail("x"), 2},
	} {
		if rep := plan(t, bind(t, check("smoke/a", finds(c.f)))).Run(t.Context(), func(stages.Event) {}); rep.Exit() != c.want {
			t.Errorf("%s: exit %d, want %d", name, rep.Exit(), c.want)
		}
	}
}

func TestFailureToOpenFailsEveryCheck(t *testing.T) {
	t.Parallel()
	s, err := stages.Opened(func(context.Context) (nothing, error) { return nothing{}, errors.New("nothing listens") },
		[]gates.Check[nothing]{check("smoke/a", finds(gates.Pass("x"))), check("smoke/b", finds(gates.Pass("x")))})
	if err != nil {
		t.Fatal(err)
	}
	rep := plan(t, s).Run(t.Context(), func(stages.Event) {})
	for _, v := range rep.Results[0].Verdicts {
		if v.Status() != gates.Failed || v.Summary() != "could not be asked: nothing listens" {
			t.Errorf("%s: %s %s", v.Check(), v.Status(), v.Summary())
		}
	}
}

func TestInterruptSkipsTheRest(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	p := plan(t, bind(t,
		check("smoke/a", finds(gates.Pass("x"))),
		check("smoke/b", func(ctx context.Context) (gates.Finding, error) {
			stop(gates.ErrStopped)
			return gates.Finding{}, ctx.Err()
		})), bind(t, check("correctness/a", finds(gates.Pass("x")))))
	interrupted := false
	rep := p.Run(ctx, func(e stages.Event) {
		if _, ok := e.(stages.Interrupted); ok {
			interrupted = true
		}
	})
	if rep.Exit() != stages.ExitInterrupted || !interrupted {
		t.Errorf("exit %d, told %v", rep.Exit(), interrupted)
	}
	if v := rep.Results[0].Verdicts; v[0].Status() != gates.Passed || v[1].Status() != gates.Skipped {
		t.Errorf("verdicts %s, %s: what was found out is kept, the rest is skipped", v[0].Status(), v[1].Status())
	}
	if rep.Results[1].NotRun != "interrupted" {
		t.Errorf("stage 3: %+v", rep.Results[1])
	}
}

// A check that waits for ever is ended at its limit, in virtual time.
func TestAHungCheckEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, bind(t, check("smoke/a", func(ctx context.Context) (gates.Finding, error) {
			<-ctx.Done()
			return gates.Finding{}, ctx.Err()
		})))
		start := time.Now()
		rep := p.Run(t.Context(), func(stages.Event) {})
		if took := time.Since(start); took != 10*time.Minute {
			t.Errorf("ended after %v, want 10m", took)
		}
		if rep.Exit() != stages.ExitFailed {
			t.Errorf("exit %d, want 2", rep.Exit())
		}
	})
}

func TestSecretsLeaveEveryVerdict(t *testing.T) {
	t.Parallel()
	p, err := stages.NewPlan(subject, func(s string) string { return strings.ReplaceAll(s, "sk-secret", "«key»") },
		bind(t, check("smoke/a", finds(gates.Fail("server said sk-secret").With("again sk-secret").Then("use sk-secret")))))
	if err != nil {
		t.Fatal(err)
	}
	rep := p.Run(t.Context(), func(e stages.Event) {
		if f, ok := e.(stages.CheckFinished); ok && strings.Contains(f.Verdict.Summary(), "secret") {
			t.Error("an event holds the secret")
		}
	})
	v := rep.Results[0].Verdicts[0]
	if all := v.Summary() + strings.Join(v.Evidence(), "") + strings.Join(v.Next(), ""); strings.Contains(all, "secret") {
		t.Errorf("the verdict holds the secret: %s", all)
	}
}
