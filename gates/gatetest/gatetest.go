// Package gatetest proves a stage's checks over their fixtures.
//
// A fixture is a txtar file below testdata/<check name>/ whose file name begins
// with the outcome that it must lead to: pass-, warn-, skip-, na- or fail-. What
// stands behind the prefix of a failing or warning fixture is the name of the
// fault, and the check's Faults must list exactly those. A line "want: words" in
// the fixture's comment must occur in the finding. A check that has no failing
// fixture fails the test: a check that has never failed proves nothing.
package gatetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
)

var outcomes = map[string]gates.Status{
	"pass": gates.Passed, "warn": gates.Warned, "skip": gates.Skipped, "na": gates.NotApplicable, "fail": gates.Failed,
}

// Run runs each check over each of its fixtures. subject makes what the check
// looks at from a fixture; it may register clean-ups on t. Fixtures of one check
// run in parallel.
func Run[S any](t *testing.T, checks []gates.Check[S], subject func(t *testing.T, fixture *txtar.Archive) S) {
	t.Helper()
	for _, c := range checks {
		t.Run(strings.ReplaceAll(c.ID, "/", "."), func(t *testing.T) {
			t.Parallel()
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			_, name, _ := strings.Cut(c.ID, "/")
			files, _ := filepath.Glob(filepath.Join("testdata", name, "*.txtar"))
			var passing int
			var faults []string
			for _, file := range files {
				prefix, fault, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "-")
				want, ok := outcomes[prefix]
				if !ok {
					t.Errorf("%s: the file name must begin with an outcome", file)
					continue
				}
				if want == gates.Passed {
					passing++
				}
				if want == gates.Failed || want == gates.Warned {
					faults = append(faults, fault)
				}
				t.Run(filepath.Base(file), func(t *testing.T) {
					t.Parallel()
					one(t, c, file, want, subject)
				})
			}
			if passing == 0 {
				t.Errorf("%s has no passing fixture in testdata/%s", c.ID, name)
			}
			sorted := slices.Sorted(slices.Values(c.Faults))
			slices.Sort(faults)
			if diff := cmp.Diff(slices.Compact(faults), sorted); diff != "" {
				t.Errorf("%s: Faults differ from the fixtures (-fixtures +Faults):\n%s", c.ID, diff)
			}
		})
	}
}

func one[S any](t *testing.T, c gates.Check[S], file string, want gates.Status, subject func(*testing.T, *txtar.Archive) S) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fixture := txtar.Parse(raw)
	v := gates.Run(t.Context(), c, subject(t, fixture))
	if v.Status() != want {
		t.Fatalf("%s says %s (%s), want %s\nevidence: %s", c.ID, v.Status(), v.Summary(), want, strings.Join(v.Evidence(), "\n          "))
	}
	all := v.Summary() + "\n" + strings.Join(v.Evidence(), "\n")
	for line := range strings.SplitSeq(string(fixture.Comment), "\n") {
		if words, ok := strings.CutPrefix(line, "want: "); ok && !strings.Contains(all, words) {
			t.Errorf("%s says %q, want words %q", c.ID, all, words)
		}
	}
}

// Field returns the value of a line "key: value" in the fixture's comment, or "".
func Field(fixture *txtar.Archive, key string) string {
	for line := range strings.SplitSeq(string(fixture.Comment), "\n") {
		if v, ok := strings.CutPrefix(line, key+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
