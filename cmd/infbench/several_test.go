package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/record"
	"infbench/stages/endpoint/endpointtest"
)

// runsOf reads all runs of a record file.
func runsOf(t *testing.T, path string) []record.Run {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []record.Run
	for run, err := range record.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, run)
	}
	return all
}

// Two healthy engines: gates of one, then of the other, then levels in turns; a record each,
// and the figures side by side with what they are not.
func TestTargetsSideBySide(t *testing.T) {
	t.Parallel()
	one, two := endpointtest.Serve(t, &txtar.Archive{}), endpointtest.Serve(t, &txtar.Archive{})
	out := filepath.Join(t.TempDir(), "x.jsonl")
	exit, stdout, stderr := infbench(t, nil, nil, "run", "--budget", "5s", "--target", one, "--target", two, "--out", out, "--arrival", "sessions:n=1", "--arrival", "sessions:n=2",
		"--per-level", "1s", "--depths", "off", "--prompt-tokens", "64", "--output-tokens", "16")
	if exit > 1 {
		t.Fatalf("exit %d\n%s\n%s", exit, stdout, stderr)
	}
	for _, want := range []string{"target 1 of 2\ninfbench run · ", "target 2 of 2\ninfbench run · ", "side by side\n", "target 1", "TTFT p50", "no verdict of a change", "measured in turns with other targets"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	var order []string
	for line := range strings.Lines(stderr) {
		if label, rest, ok := strings.Cut(line, ": "); ok && (strings.HasPrefix(rest, "stage 3") && strings.Contains(rest, "pass in") || strings.HasPrefix(rest, "level") && strings.Contains(rest, "closed loop")) {
			order = append(order, label+" "+rest[:7])
		}
	}
	if len(order) != 6 || strings.Join(order[:2], ", ") != "target 1 stage 3, target 2 stage 3" || order[2][9:] != order[3][9:] || order[2][:8] == order[3][:8] || order[4][:8] == order[5][:8] {
		t.Errorf("in turns: %q\n%s", order, stderr)
	}
	runs := runsOf(t, out)
	if len(runs) != 2 || runs[0].Parts().ID == runs[1].Parts().ID || runs[0].Parts().Identity == runs[1].Parts().Identity {
		t.Fatalf("%d runs", len(runs))
	}
	seeds := map[string]bool{}
	for i, run := range runs {
		perf, ok := run.Performance()
		if !ok || len(perf.Levels()) != 2 || !strings.Contains(strings.Join(perf.Caveats(), "; "), runs[1-i].Parts().ID) {
			t.Errorf("run %d: numbers %v, caveats %q", i, ok, perf.Caveats())
		}
		seeds[perf.Workload().Seed] = true
	}
	if len(seeds) != 1 {
		t.Errorf("the prompts are not the same: seeds %v", seeds)
	}
}

// One of them speaks garbage: its gates fail, the other's pass, nobody is measured, and both
// reports stand in one document.
func TestTargetsNeedEveryGate(t *testing.T) {
	t.Parallel()
	good, bad := endpointtest.Serve(t, &txtar.Archive{}), endpointtest.Serve(t, &txtar.Archive{Comment: []byte("fault: one-token\n")})
	out := filepath.Join(t.TempDir(), "x.jsonl")
	exit, stdout, stderr := infbench(t, nil, nil, "stage4", "--json", "--budget", "5s", "--target", bad, "--target", good, "--out", out, "--per-level", "1s")
	var doc struct {
		Schema  string `json:"schema"`
		Exit    int    `json:"exit"`
		Reports []struct {
			Schema string          `json:"schema"`
			Exit   int             `json:"exit"`
			Perf   json.RawMessage `json:"performance"`
		} `json:"reports"`
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	if exit != 2 || doc.Exit != 2 || doc.Schema != "infbench.reports/v1" || len(doc.Reports) != 2 || doc.Reports[0].Schema != "infbench.report/v1" {
		t.Fatalf("exit %d, %+v", exit, doc)
	}
	for i, r := range doc.Reports {
		if r.Exit != 2 || r.Perf != nil {
			t.Errorf("report %d: exit %d, numbers %s", i, r.Exit, r.Perf)
		}
	}
	if !strings.Contains(stdout, "target 1 was not measured, as its own report says: figures side by side need every target") {
		t.Errorf("why the good one was not measured is not said\n%s", stdout)
	}
	if n := len(runsOf(t, out)); n != 2 {
		t.Errorf("%d runs left a line, want both", n)
	}
}
