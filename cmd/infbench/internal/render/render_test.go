package render_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
	"infbench/stages"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-golden +printed\n%s", diff)
	}
}

func report() stages.Report {
	v := recordtest.Verdict
	return stages.Report{Results: []stages.Result{
		{Stage: gates.Static, Status: gates.Passed, Took: 1200 * time.Microsecond, Verdicts: []gates.Verdict{v("static/idx.parse", gates.Pass("34 tensors"))}},
		{Stage: gates.Smoke, Status: gates.Failed, Took: 12345 * time.Millisecond, Verdicts: []gates.Verdict{
			v("smoke/known-answer", gates.Fail("answered %q, want 42", "\x1b[2J!!!!").With("asked for 42").Because("NaN logits").Then("infbench stage0 --checkpoint PATH")),
			v("smoke/usage", gates.Skip("beyond this model")),
			v("smoke/reasoning", gates.Skip("beyond this model")),
			v("smoke/logprobs", gates.NotApply("none")),
		}},
		{Stage: gates.Correctness, NotRun: "stage 2 failed"},
	}}
}

func about(string) gates.Info {
	return gates.Info{Title: "temperature 0 gives the known answer", Does: []gates.Consequence{{Engine: "vLLM 0.32", Does: "nothing"}}}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	render.Verdicts(&b, render.Style{}, report(), about)
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape reaches the terminal")
	}
	golden(t, "verdicts", b.String())
	var quiet strings.Builder
	render.Verdicts(&quiet, render.Style{Quiet: true}, report(), func(string) gates.Info { return gates.Info{} })
	if strings.Contains(quiet.String(), "34 tensors") {
		t.Error("quiet shows what passed")
	}
}

// The sample is too small for p95: a dash and the reason, never a number.
func TestPerformance(t *testing.T) {
	t.Parallel()
	perf, ok := recordtest.PerfRun(recordtest.Identity("sha256:aa", "rev1")).Performance()
	if !ok {
		t.Fatal("no numbers")
	}
	var b strings.Builder
	if err := render.Performance(&b, render.Style{}, perf); err != nil {
		t.Fatal(err)
	}
	golden(t, "performance", b.String())
}

// Figures side by side carry the sentence that they are no verdict, and need every record.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	one, _ := recordtest.PerfRun(recordtest.Identity("sha256:aa", "rev1")).Performance()
	two, _ := recordtest.PerfRun(recordtest.Identity("sha256:bb", "rev1")).Performance()
	var b strings.Builder
	if err := render.SideBySide(&b, render.Style{}, []record.PerfRecord{one, two}); err != nil {
		t.Fatal(err)
	}
	golden(t, "side", b.String())
	b.Reset()
	var ungated *record.UngatedResultError
	if err := render.SideBySide(&b, render.Style{}, []record.PerfRecord{one, {}}); !errors.As(err, &ungated) || b.Len() > 0 {
		t.Errorf("%v, printed %q", err, b.String())
	}
}

func TestNoReportWithoutARecord(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var ungated *record.UngatedResultError
	if err := render.Performance(&b, render.Style{}, record.PerfRecord{}); !errors.As(err, &ungated) || b.Len() > 0 {
		t.Errorf("%v, printed %q", err, b.String())
	}
}

func TestPlainSaysOneReasonOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	emit := render.Plain(&b)
	emit(stages.StageStarted{Stage: gates.Smoke, Checks: 2, Cost: time.Second})
	for _, id := range []string{"smoke/a", "smoke/b"} {
		emit(stages.CheckFinished{Verdict: recordtest.Verdict(id, gates.Fail("could not be asked: nothing listens"))})
	}
	emit(stages.LevelStarted{Index: 0, Of: 3, Arrival: "closed loop, 1 session, no think time", Expected: 10 * time.Second})
	emit(stages.LevelFinished{Index: 0, Of: 3, Issued: 10, Good: 9})
	emit(stages.StageNotRun{NotRun: gates.NotRun{Stage: gates.Correctness, Why: "stage 2 failed"}})
	emit(stages.Interrupted{})
	golden(t, "plain", b.String())
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	subject, err := gates.NewSubject(gates.SubjectParts{Endpoint: "http://loopback:1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	rep := report()
	if err := render.JSON(&b, "stage2", 2, "", subject, render.Beside{}, rep, about, "x.jsonl#1", record.PerfRecord{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "json", b.String())
}
