// Package realengine starts a real server for tests: llama.cpp's own, with a real model
// of 135 million parameters. The one rule: it listens on the loopback only, and it
// ends with the test that started it, whatever becomes of that.
//
// install.sh puts the server and the model into a folder; the environment variable
// INFBENCH_ENGINES names it.
package realengine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Options say how the server runs. The zero Options are two slots of 4,096 tokens with
// the model's own chat template, which knows no tools.
type Options struct {
	// Context is the context of all slots together, Slots how many requests run at once.
	Context, Slots int
	// Tools serves a template with tools, primed so that even this model makes calls.
	Tools bool
	// Key is the API key that the server asks for.
	Key string
	// Threads is how many compute, 0 for two; NoCache computes every prompt in full.
	Threads int
	NoCache bool
}

// Server is a running server.
type Server struct {
	// URL is where it listens.
	URL  string
	cmd  *exec.Cmd
	done chan struct{}
}

// Kill ends the server at once, as a crash would.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Model returns the path of the model that is served; it skips the test when none is
// installed.
func Model(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("INFBENCH_ENGINES")
	if dir == "" {
		t.Skip("INFBENCH_ENGINES names no folder: make engine installs a real server and sets it")
	}
	return filepath.Join(dir, "model.gguf")
}

// Start starts a server; it skips the test when none is installed.
func Start(t *testing.T, o Options) *Server {
	t.Helper()
	s, said := launch(t, Model(t), o)
	if s == nil {
		t.Fatalf("the server did not start: %q", said)
	}
	s.await(t)
	return s
}

// Loads reports whether the server loads a model.
func Loads(t *testing.T, model string) bool {
	t.Helper()
	s, _ := launch(t, model, Options{Context: 512, Slots: 1})
	return s != nil
}

// launch starts a server with a model; where it does not load, it returns what it said.
func launch(t *testing.T, model string, o Options) (s *Server, said string) {
	t.Helper()
	dir := filepath.Dir(Model(t))
	_, here, _, _ := runtime.Caller(0)
	args := []string{filepath.Join(filepath.Dir(here), "serve.py"), model}
	if o.Context > 0 {
		args = append(args, "--ctx", fmt.Sprint(o.Context))
	}
	if o.Slots > 0 {
		args = append(args, "--slots", fmt.Sprint(o.Slots))
	}
	if o.Tools {
		args = append(args, "--template", filepath.Join(filepath.Dir(here), "tools.jinja"))
	}
	if o.Threads > 0 {
		args = append(args, "--threads", fmt.Sprint(o.Threads))
	}
	if o.NoCache {
		args = append(args, "--no-cache")
	}
	if o.Key != "" {
		args = append(args, "--key", o.Key)
	}
	cmd := exec.Command(filepath.Join(dir, "venv", "bin", "python"), args...)
	// Waiting threads sleep: spinning ones cost this server fifty times its speed on a
	// machine that does anything else.
	cmd.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=0")
	stdin, err := cmd.StdinPipe() // the server ends when this does, even if we are killed
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := &Server{cmd: cmd, done: make(chan struct{})}
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		close(started.done)
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		started.Kill()
	})
	if started.URL = strings.TrimSpace(line); err != nil || !strings.HasPrefix(started.URL, "http") {
		return nil, line
	}
	return started, line
}

// await waits until the model is loaded.
func (s *Server) await(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the server was not ready in two minutes")
		}
	}
}
