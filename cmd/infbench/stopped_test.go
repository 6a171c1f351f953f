package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/cmd/infbench/internal/app"
	"infbench/record"
	"infbench/stages/endpoint/endpointtest"
)

// infbench runs the real binary; onLine sees each line of stderr as it comes and may
// stop the process.
func infbench(t *testing.T, onLine func(p *os.Process, line string), env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("infbench", args...)
	cmd.Dir = t.TempDir() // where it leaves evidence
	cmd.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir()), env...)
	var out bytes.Buffer
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for in := bufio.NewScanner(pipe); in.Scan(); {
		lines.WriteString(in.Text() + "\n")
		if onLine != nil {
			onLine(cmd.Process, in.Text())
		}
	}
	err = cmd.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), lines.String()
}

func lastRun(t *testing.T, path string) record.Run {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var last record.Run
	for run, err := range record.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		last = run
	}
	return last
}

// Ctrl-C in the middle of a level: 130, and what was measured by then is kept and says
// that it is incomplete.
func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	target := endpointtest.Serve(t, &txtar.Archive{})
	out := filepath.Join(t.TempDir(), "x.jsonl")
	exit, stdout, stderr := infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "level 2 of 2: closed") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, nil, "run", "--budget", "5s", "--target", target, "--out", out, "--arrival", "sessions:n=1", "--arrival", "sessions:n=2", "--per-level", "1s", "--prompt-tokens", "64", "--output-tokens", "16")
	if exit != 130 || !strings.Contains(stdout, "exit 130: interrupted") {
		t.Fatalf("exit %d, want 130\n%s\n%s", exit, stdout, stderr)
	}
	run := lastRun(t, out)
	perf, ok := run.Performance()
	if ending := run.Parts().Ending; !ok || ending.Complete || ending.Cause != "interrupted" {
		t.Fatalf("numbers kept: %v, ending %+v\n%s", ok, ending, stdout)
	}
	if n := len(perf.Levels()); n < 1 {
		t.Errorf("%d levels kept, want the first one at least", n)
	}
}

// An interrupt before the load: the verdicts so far are kept, without numbers.
func TestInterruptDuringTheGates(t *testing.T) {
	t.Parallel()
	target := endpointtest.Serve(t, &txtar.Archive{})
	out := filepath.Join(t.TempDir(), "x.jsonl")
	exit, stdout, _ := infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "stage 3 correctness: ") && strings.HasSuffix(strings.TrimSpace(line), " checks") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, nil, "run", "--budget", "5s", "--target", target, "--out", out)
	if exit != 130 {
		t.Fatalf("exit %d, want 130\n%s", exit, stdout)
	}
	run := lastRun(t, out)
	if _, ok := run.Performance(); ok || run.Parts().Ending.Complete {
		t.Errorf("numbers %v, ending %+v", ok, run.Parts().Ending)
	}
	if !strings.Contains(stdout, "stage 4 performance     not run: interrupted") {
		t.Errorf("stage 4 is not said to be not run:\n%s", stdout)
	}
}

// A place that never answers is left at a signal and at the deadline, each with one line
// and its own code, and not as a verdict on the checkpoint.
func TestStoppedWhileHeadersAreRead(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(mute.Close)
	t.Cleanup(func() { close(over) })
	exit, stdout, stderr := infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "reading the checkpoint") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, nil, "stage0", "--json", "--checkpoint", mute.URL+"/org/model", "--header-cache", "off")
	if exit != 130 || !strings.Contains(stderr, "infbench: interrupted while the checkpoint's headers were read") || !strings.Contains(stdout, `"exit": 130`) {
		t.Errorf("a signal: exit %d, want 130\n%s%s", exit, stdout, stderr)
	}
	exit, stdout, stderr = infbench(t, nil, nil, "run", "--target", mute.URL, "--deadline", "50ms", "--checkpoint", mute.URL+"/org/model", "--header-cache", "off")
	if exit != 2 || !strings.Contains(stderr, "infbench: the deadline has passed while the checkpoint's headers were read") {
		t.Errorf("the deadline: exit %d, want 2\n%s%s", exit, stdout, stderr)
	}
}

// A kill that nothing can be done about: the draft beside the file is a record.
func TestKillLeavesADraft(t *testing.T) {
	t.Parallel()
	target := endpointtest.Serve(t, &txtar.Archive{})
	dir := t.TempDir()
	out := filepath.Join(dir, "x.jsonl")
	infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "level 2 of 2: closed") {
			_ = p.Kill()
		}
	}, nil, "run", "--budget", "5s", "--target", target, "--out", out, "--arrival", "sessions:n=1", "--arrival", "sessions:n=2", "--per-level", "1s", "--prompt-tokens", "64", "--output-tokens", "16")
	drafts, _ := filepath.Glob(filepath.Join(dir, "*.unfinished.jsonl"))
	if len(drafts) != 1 {
		t.Fatalf("drafts: %v", drafts)
	}
	run := lastRun(t, drafts[0])
	perf, ok := run.Performance()
	if !ok || len(perf.Levels()) != 1 || run.Parts().Ending.Complete {
		t.Errorf("numbers %v, ending %+v", ok, run.Parts().Ending)
	}
}

// Stopped while compiled code is read for the grid: 130.
func TestStoppedWhileKernelsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, complaint bytes.Buffer
	if exit := app.Run(ctx, []string{"infbench", "matrix", "--kernels", dir}, &out, &complaint); exit != 130 || !strings.Contains(complaint.String(), "interrupted while") {
		t.Errorf("exit %d, want 130\n%s%s", exit, &out, &complaint)
	}
}
