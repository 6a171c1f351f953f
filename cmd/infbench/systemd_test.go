package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// setting returns the values of a key of a unit file.
func setting(t *testing.T, path, key string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			out = append(out, value)
		}
	}
	return out
}

// The example units make of each exit code what docs/EXIT-CODES.md says, by the rules of
// systemd.service(5): a oneshot succeeds on 0 and on SuccessExitStatus=, ExecStartPost=
// on 0 alone.
func TestSystemdExamples(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "docs", "examples", "systemd")
	oneshot := filepath.Join(dir, "infbench-smoke.service")
	if got := setting(t, oneshot, "Type"); !slices.Equal(got, []string{"oneshot"}) {
		t.Errorf("Type=%q", got)
	}
	success := append(strings.Fields(strings.Join(setting(t, oneshot, "SuccessExitStatus"), " ")), "0")
	post := setting(t, filepath.Join(dir, "engine-restart.conf"), "ExecStartPost")
	if len(post) != 1 {
		t.Fatalf("ExecStartPost=%q", post)
	}
	_, script, _ := strings.Cut(post[0], "-c '")
	script = strings.TrimSuffix(script, "'")
	for code, healthy := range map[int]bool{0: true, 1: true, 2: false, 64: false, 70: false, 130: false} {
		if got := slices.Contains(success, strconv.Itoa(code)); got != healthy {
			t.Errorf("the oneshot takes %d for success: %v", code, got)
		}
		// The command of the unit, with a program of that exit code in the place of ours.
		c := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(script, "/usr/local/bin/infbench", "sh -c 'exit "+strconv.Itoa(code)+"'"))
		err := c.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if (err == nil) != healthy {
			t.Errorf("ExecStartPost= with exit code %d: %v", code, err)
		}
	}
	// The options that the units use are there.
	for _, command := range append(setting(t, oneshot, "ExecStart"), script) {
		_, options, _ := strings.Cut(command, "infbench stage2 ")
		options, _, _ = strings.Cut(options, ";")
		args := append(strings.Fields(options), "--target", "http://127.0.0.1:1", "--wait-ready", "1ms", "--report", filepath.Join(t.TempDir(), "r.json"))
		if code, _, stderr := infbench(t, nil, nil, append([]string{"stage2"}, args...)...); code != 2 {
			t.Errorf("%q: exit %d, %s", command, code, stderr)
		}
	}
}
