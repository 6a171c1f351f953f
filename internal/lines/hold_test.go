package lines_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"infbench/internal/lines"
)

func TestHoldIsForOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.journal")
	first, second := flock.New(path), flock.New(path)
	if err := lines.Hold(first, "run"); err != nil {
		t.Fatal(err)
	}
	if err := lines.Hold(second, "run"); err == nil || !strings.Contains(err.Error(), "a.journal is being written by another run") {
		t.Errorf("the second: %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := lines.Hold(second, "run"); err != nil {
		t.Errorf("after the first: %v", err)
	}
}
