package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/stages/endpoint/endpointtest"
)

// A kill in the second level: the journal refuses what is another measurement, all reasons at
// once and before a gate is asked; goes on at the second level; and what another process of
// the server had measured is not gone on with.
func TestRunGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	var backend atomic.Pointer[httputil.ReverseProxy]
	engine := func() {
		u, err := url.Parse(endpointtest.Serve(t, &txtar.Archive{}))
		if err != nil {
			t.Fatal(err)
		}
		p := httputil.NewSingleHostReverseProxy(u)
		p.FlushInterval, p.ErrorLog = -1, log.New(io.Discard, "", 0)
		backend.Store(p)
	}
	engine()
	front := httptest.NewServer(handler(func() *httputil.ReverseProxy { return backend.Load() }))
	t.Cleanup(front.Close)
	dir := t.TempDir()
	out := filepath.Join(dir, "x.jsonl")
	env := []string{"XDG_CONFIG_HOME=" + dir} // the key of the first sitting's seals
	args := []string{
		"run", "--budget", "5s", "--target", front.URL, "--out", out, "--arrival", "sessions:n=1", "--arrival", "sessions:n=2", "--per-level", "1s", "--depths", "off",
		"--prompt-tokens", "64", "--output-tokens", "16",
	}
	infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "level 2 of 2: closed") {
			_ = p.Kill()
		}
	}, env, args...)
	journals, _ := filepath.Glob(filepath.Join(dir, "x.*.journal"))
	if len(journals) != 1 {
		t.Fatalf("journals: %v", journals)
	}
	resume := append(args[:len(args):len(args)], "--resume", journals[0])

	exit, _, stderr := infbench(t, nil, env, append(resume[:len(resume):len(resume)], "--arrival", "sessions:n=4", "--output-tokens", "32")...)
	for _, want := range []string{"is of another measurement: the levels was sessions:n=1 · sessions:n=2, is ", "; what is sent was ", "prompts of 64 and answers of 32 tokens", "leave --resume out"} {
		if exit != 64 || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, %q is missing in: %s", exit, want, stderr)
		}
	}
	if strings.Contains(stderr, "stage ") {
		t.Errorf("gates were asked before it was refused: %s", stderr)
	}
	if exit, _, stderr = infbench(t, nil, nil, resume...); exit != 64 || !strings.Contains(stderr, "was sealed on another machine, with another key") {
		t.Errorf("another key: exit %d: %s", exit, stderr)
	}

	exit, stdout, stderr := infbench(t, nil, env, resume...)
	if exit > 1 || !strings.Contains(stderr, "level 1 of 2: closed loop, 1 session, no think time, measured before the pause") || strings.Contains(stderr, "level 2 of 2: closed loop, 2 sessions, no think time, measured") {
		t.Fatalf("exit %d\n%s\n%s", exit, stdout, stderr)
	}
	for _, want := range []string{"resumed after a pause of ", "1 load points are of run ", "whose gates passed too", "sessions:n=1", "sessions:n=2"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	run := lastRun(t, out)
	if perf, ok := run.Performance(); !ok || !run.Parts().Ending.Complete || len(perf.Levels()) != 2 || !strings.Contains(strings.Join(perf.Caveats(), "; "), "resumed after a pause") {
		t.Errorf("numbers %v, ending %+v", ok, run.Parts().Ending)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.journal")); len(left) != 0 {
		t.Errorf("all stands in the record, and %v is left", left)
	}

	// Ctrl-C leaves a journal and says how to go on with it; then the server is restarted.
	exit, _, stderr = infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "level 1 of 2: ") && strings.HasSuffix(line, "requests good") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, env, args...)
	journals, _ = filepath.Glob(filepath.Join(dir, "x.*.journal"))
	if exit != 130 || len(journals) != 1 || !strings.Contains(stderr, "to go on where it ended: the same command with --resume "+journals[0]) {
		t.Fatalf("exit %d, journals %v\n%s", exit, journals, stderr)
	}
	perf, ok := lastRun(t, out).Performance()
	if all := strings.Join(perf.Caveats(), "; "); !ok || len(perf.Levels()) == 2 && !strings.Contains(all, "was cut short: the run was stopped in it") {
		t.Errorf("%d levels, caveats %s", len(perf.Levels()), all)
	}
	engine()
	exit, _, stderr = infbench(t, func(p *os.Process, line string) {
		if strings.HasPrefix(line, "stage 1 hardware: ") && strings.Contains(line, " checks") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, env, append(args[:len(args):len(args)], "--resume", journals[0])...)
	if exit != 130 || !strings.Contains(stderr, "the server was restarted since "+journals[0]+" was written") || !strings.Contains(stderr, "all is measured anew") {
		t.Errorf("exit %d\n%s", exit, stderr)
	}
	if _, err := os.Stat(journals[0]); err != nil {
		t.Errorf("what was measured is lost: %v", err)
	}
}

// handler is the server behind one address, whichever it is by now.
type handler func() *httputil.ReverseProxy

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h().ServeHTTP(w, r) }
