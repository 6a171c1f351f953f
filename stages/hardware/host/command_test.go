package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"infbench/stages/hardware/host"
)

// put makes a command of a shell script, the only one on the path beside the shell's own.
func put(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// A command gets what it is found by, and none of the variables that hold keys or send it to
// another machine.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-planted")
	t.Setenv("DOCKER_HOST", "tcp://planted:2375")
	t.Setenv("CONTAINER_HOST", "ssh://planted")
	put(t, "nvidia-smi", "env; echo \"$1\"")
	out, err := host.Command(t.Context(), "nvidia-smi", "--version")
	if err != nil || strings.Contains(out, "planted") || !strings.Contains(out, "LC_ALL=C\n") || !strings.Contains(out, "--version\n") {
		t.Errorf("%v:\n%s", err, out)
	}
	if _, err := host.Command(t.Context(), "no-such-command-of-any-machine"); err == nil {
		t.Error("a command that is not there ran")
	}
}

// One that prints without end, fails or hangs is no answer, and holds nobody up.
func TestCommandThatMisbehaves(t *testing.T) {
	put(t, "nvidia-smi", "while :; do echo 'NVIDIA H100, 9.0, 1, 2, 3'; done")
	out, err := host.Command(t.Context(), "nvidia-smi")
	if err == nil || len(out) > 1<<16 {
		t.Errorf("endless: %d bytes, %v", len(out), err)
	}
	put(t, "nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
	if _, err := host.Command(t.Context(), "nvidia-smi"); err == nil {
		t.Error("a failure is an answer")
	}
	put(t, "nvidia-smi", "exec sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := host.Command(ctx, "nvidia-smi"); err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("a command that hangs: %v", err)
	}
}

// The machine that the tests run on is looked at for real: whatever it is, the least is true.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	h := host.Capture(t.Context(), host.Machine(host.Target{}, nil))
	if p := h.Parts(); h.IsZero() || p.CPU.Arch == "" || p.Memory.Model == "" || p.Target != "none" {
		t.Errorf("got %s", h)
	}
	name, err := os.Hostname()
	if err == nil && len(name) > 5 && strings.Contains(h.String(), name) {
		t.Errorf("the machine's name is in %s", h)
	}
	if d := host.Processor(h); len(h.Parts().CPU.Flags) > 0 && d.String() != h.Parts().CPU.Arch {
		t.Errorf("the processor is %s", d)
	}
}
