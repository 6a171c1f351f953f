package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/soak"
	"infbench/stages/endpoint/endpointtest"
)

// historyOf reads a journal.
func historyOf(t *testing.T, path string) (*soak.History, []error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, skipped, err := soak.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return h, skipped
}

// A kill that nothing can be done about: what was seen lies in the journal, and the soak goes
// on from there.
func TestSoakGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	target := endpointtest.Serve(t, &txtar.Archive{})
	dir := t.TempDir()
	journal, out := filepath.Join(dir, "j.jsonl"), filepath.Join(dir, "r.jsonl")
	env := []string{"XDG_CONFIG_HOME=" + dir} // the key of the first sitting's seal
	infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "round 1 at") {
			_ = p.Kill()
		}
	}, env, "soak", "--target", target, "--for", "8s", "--every", "2s", "--journal", journal, "--out", out)
	h, _ := historyOf(t, journal)
	if _, over := h.Ended(); over || h.Rounds() != 1 || !h.Clean() || h.Resumable() != nil {
		t.Fatalf("ended %v, %d rounds, clean %v, %v", over, h.Rounds(), h.Clean(), h.Resumable())
	}
	if info, err := os.Stat(out); err == nil && info.Size() > 0 {
		t.Error("a soak that was killed left a record")
	}
	exit, stdout, stderr := infbench(t, nil, env, "soak", "--resume", journal, "--target", target, "--out", out)
	again, skipped := historyOf(t, journal)
	if end, over := again.Ended(); exit != 1 || !over || end.Cause != "" || again.Resumed() != 1 || again.Rounds() < 2 || len(skipped) != 0 {
		t.Errorf("exit %d, %+v, %d rounds, skipped %v\n%s\n%s", exit, end, again.Rounds(), skipped, stdout, stderr)
	}
	if again.Lasted() < again.Plan().For {
		t.Errorf("it lasted %v of %v", again.Lasted(), again.Plan().For)
	}
	if run := lastRun(t, out); run.Parts().Command != "soak" || !run.Parts().Ending.Complete {
		t.Errorf("%+v", run.Parts())
	}
	// One first round alone is the measure of all times.
	b, err := os.ReadFile(journal)
	if n := strings.Count(string(b), `"anchor"`); err != nil || n != 1 {
		t.Errorf("%d anchors, %v", n, err)
	}
}

// Ctrl-C between rounds: 130, and what was seen is kept.
func TestSoakInterrupted(t *testing.T) {
	t.Parallel()
	target := endpointtest.Serve(t, &txtar.Archive{})
	dir := t.TempDir()
	journal, out := filepath.Join(dir, "j.jsonl"), filepath.Join(dir, "r.jsonl")
	exit, stdout, stderr := infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "round 1 at") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, nil, "soak", "--target", target, "--for", "8h", "--journal", journal, "--out", out)
	if exit != 130 || !strings.Contains(stdout, "correctness/over-time            interrupted after ") || !strings.Contains(stdout, " of 8h0m0s: no failure in 1 round") || !strings.Contains(stdout, "exit 130: interrupted") {
		t.Fatalf("exit %d\n%s\n%s", exit, stdout, stderr)
	}
	if h, _ := historyOf(t, journal); h.Resumable() != nil || h.Rounds() != 1 {
		t.Errorf("%v, %d rounds", h.Resumable(), h.Rounds())
	}
	if run := lastRun(t, out); run.Parts().Ending.Complete || run.Parts().Ending.Cause != "interrupted" || run.Parts().Exit != 130 {
		t.Errorf("%+v", run.Parts())
	}
}
