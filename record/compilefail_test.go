package record_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWhatMustNotCompile builds each package below testdata/compilefail. Lines
// marked want must be refused with the compiler's own words, no other line may be,
// and the package named control must build.
func TestWhatMustNotCompile(t *testing.T) {
	t.Parallel()
	dirs, _ := filepath.Glob("testdata/compilefail/*")
	if len(dirs) < 5 {
		t.Fatalf("only %d cases", len(dirs))
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("go", "build", "-gcflags=-e", "./"+dir).CombinedOutput()
			if filepath.Base(dir) == "control" {
				if err != nil {
					t.Fatalf("the control case does not build: %s", out)
				}
				return
			}
			if err == nil {
				t.Fatal("it compiles")
			}
			said := map[int]string{}
			for _, m := range regexp.MustCompile(`x\.go:(\d+):\d+: (.*)`).FindAllStringSubmatch(string(out), -1) {
				n, _ := strconv.Atoi(m[1])
				said[n] += m[2] + "\n"
			}
			src, err := os.ReadFile(filepath.Join(dir, "x.go"))
			if err != nil {
				t.Fatal(err)
			}
			want := regexp.MustCompile(`// want "(.*)"$`)
			marked := 0
			for i, line := range strings.Split(string(src), "\n") {
				m := want.FindStringSubmatch(line)
				switch {
				case m == nil && said[i+1] != "":
					t.Errorf("line %d is refused and not marked: %s", i+1, said[i+1])
				case m != nil && !regexp.MustCompile(strings.ReplaceAll(m[1], `\|`, `|`)).MatchString(said[i+1]):
					t.Errorf("line %d: the compiler says %q, want %s", i+1, said[i+1], m[1])
				}
				if m != nil {
					marked++
				}
			}
			if marked == 0 {
				t.Error("no line is marked")
			}
		})
	}
}
