package host

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Exec runs a command that is on the path and returns the beginning of what it printed.
type Exec func(ctx context.Context, name string, args ...string) (string, error)

// Bounds on a command: nvidia-smi takes seconds where the driver has to be woken first.
const (
	commandTime = 8 * time.Second
	maxPrinted  = 1 << 16
)

// passed are the variables that a command gets: what finds it and its libraries, and nothing
// that could send it to another machine, such as DOCKER_HOST.
var passed = []string{"PATH", "LD_LIBRARY_PATH", "HOME", "XDG_RUNTIME_DIR"}

// Command runs a command of this machine.
func Command(ctx context.Context, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	out := &head{}
	c := exec.CommandContext(ctx, path, args...)
	c.Stdout, c.WaitDelay = out, time.Second
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(passed, name)
	}), "LC_ALL=C")
	if err = c.Run(); ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.kept.String(), err
}

// head keeps the beginning of what is written. The buffer is no embedded one: its ReadFrom
// would read without end.
type head struct{ kept bytes.Buffer }

var errLong = errors.New("more was printed than an answer has")

func (h *head) Write(b []byte) (int, error) {
	if h.kept.Len()+len(b) > maxPrinted {
		return 0, errLong
	}
	return h.kept.Write(b)
}

// ask runs a command and returns what it printed; ok is false where it is not there or failed.
// One that hung is not asked again: its driver does.
func (l *looker) ask(name string, args ...string) (printed string, ok bool) {
	if l.Exec == nil || l.hung[name] {
		return "", false
	}
	printed, err := l.Exec(l.ctx, name, args...)
	if errors.Is(err, context.DeadlineExceeded) {
		l.hung[name] = true
	}
	return printed, err == nil
}
