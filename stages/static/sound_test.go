package static_test

import (
	"os"
	"path/filepath"
	"testing"

	"infbench/gates"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestSound runs all checks over checkpoints in testdata/sound: each is small, laid
// out and declared as a published one is, and sound. A false alarm is as bad as a
// miss.
func TestSound(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "sound", "*.txtar"))
	if len(files) == 0 {
		t.Fatal("no fixtures")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for id, v := range judge(t, subject(t, txtar.Parse(text))) {
				if s := v.Status(); s != gates.Passed && s != gates.NotApplicable {
					t.Errorf("%s says %s: %s", id, s, v.Summary())
				}
			}
		})
	}
}
