package main

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"infbench/stages/checkpoint/demo"
	"infbench/stages/checkpoint/remote/hubtest"
	"infbench/stages/endpoint/endpointtest"
)

// TestScripts runs each script of testdata/script through the real binary. Own
// commands:
//
//	exits N command…   the command must exit with N; its stdout and stderr are kept
//	measures command…  the command must exit with 0, or with 1 where a busy machine voided
//	                   rows and nothing else was warned of
//	judges command…    the command must exit with 0, 1 or 2
//	serve LINES…       serves the embedded engine behind the fault proxy as fixture
//	                   lines ("fault=one-token", "engine=thinks") say; sets $TARGET
//	hostile NAME       serves one of the servers of hostile_test.go; sets $TARGET
//	demo-checkpoint D  writes the demo checkpoint to D
//	hub D [TOKEN]      serves D as the repository org/model of a hub at $HUB
//	lines N FILE       FILE must have N lines
//	baseline-record FILE NUMBER [key=value…]
//	                   appends the record of a made-up baseline, see baseline_records_test.go
//	bundle D CHECK     sets $BUNDLE to the one bundle of CHECK in D, and unpacks it to bundle.json
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			e.Setenv("NO_COLOR", "1")
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/cache")
			tokenizer, err := filepath.Abs("../../internal/tokens/testdata/bytelevel.json")
			e.Setenv("TOKENIZER", tokenizer)
			e.Values["t"] = t
			if err != nil {
				return err
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"judges": func(ts *testscript.TestScript, _ bool, args []string) {
				if got := exitCode(ts, args); got > 2 {
					ts.Fatalf("exit code %d, want a verdict: 0, 1 or 2", got)
				}
			},
			"measures": measures,
			"serve": func(ts *testscript.TestScript, _ bool, args []string) {
				var comment string
				for _, a := range args {
					key, value, _ := strings.Cut(a, "=")
					comment += key + ": " + value + "\n"
				}
				ts.Setenv("TARGET", endpointtest.Serve(t, &txtar.Archive{Comment: []byte(comment)}))
			},
			"hostile": func(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv("TARGET", hostile(t, args[0])) },
			"demo-checkpoint": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(demo.Write(ts.MkAbs(args[0])))
			},
			"hub": func(ts *testscript.TestScript, _ bool, args []string) {
				h := hubtest.Start(ts.MkAbs(args[0]), 0)
				t.Cleanup(h.Close)
				if len(args) > 1 { // every request must carry this token
					h.SetIntercept(func(w http.ResponseWriter, r *http.Request) bool {
						if "http://"+r.Host == h.URL && r.Header.Get("Authorization") != "Bearer "+args[1] {
							w.Header().Set("X-Error-Code", "GatedRepo")
							w.WriteHeader(http.StatusUnauthorized)
							return true
						}
						return false
					})
				}
				ts.Setenv("HUB", h.URL)
			},
			"baseline-record": baselineRecord,

			"bundle":  bundle,
			"library": library, "image": image,
			"lines": func(ts *testscript.TestScript, _ bool, args []string) {
				b, err := os.ReadFile(ts.MkAbs(args[1]))
				ts.Check(err)
				if n := strings.Count(string(b), "\n"); strconv.Itoa(n) != args[0] {
					ts.Fatalf("%s has %d lines, want %s", args[1], n, args[0])
				}
			},
		},
	})
}

// exits runs a command and demands its exit code: the built-in "! exec" cannot tell 1
// from 2.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitCode(ts *testscript.TestScript, command []string) int {
	err := ts.Exec(command[0], command[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		ts.Fatalf("%v", err)
	}
	return 0
}

// bundle finds the evidence of a check.
func bundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundle FOLDER CHECK")
	}
	found, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), strings.ReplaceAll(args[1], "/", ".")+"-*.json.gz"))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("bundles of %s: %v, want one", args[1], found)
	}
	ts.Setenv("BUNDLE", found[0])
	f, err := os.Open(found[0])
	ts.Check(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	ts.Check(err)
	doc, err := io.ReadAll(z)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("bundle.json"), doc, 0o600))
}

// heldUp reports whether a report says that its own machine held the harness up.
func heldUp(out string) bool {
	return strings.Contains(out, "late_dispatch") || strings.Contains(out, "client-limited")
}

// measures runs a command that measures a healthy engine. That a harness which the
// machine held up voids its rows is right, and is no failure of the test.
func measures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: measures command…")
	}
	switch got := exitCode(ts, args); got {
	case 0:
	case 1:
		out := ts.ReadFile("stdout")
		if !heldUp(out) {
			ts.Fatalf("exit code 1, and not for a busy machine")
		}
		for _, l := range strings.Split(out, "\n") {
			if strings.Contains(l, "WARN") && !heldUp(l) && !strings.HasPrefix(strings.TrimSpace(l), "stage 4 ") {
				ts.Fatalf("exit code 1 for more than a busy machine: %s", l)
			}
		}
	default:
		ts.Fatalf("exit code %d, want 0", got)
	}
}
