package gatetest_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/gates/gatetest"
)

// A stage whose fixtures are wrong must fail its test; that is seen from outside,
// by running this test binary again with the name of the wrong check.
var broken = flag.String("broken", "", "run the check of this name, whose fixtures are wrong on purpose")

func even(name string, faults ...string) gates.Check[string] {
	return gates.Check[string]{
		ID: "smoke/" + name, Doc: "the number is even\n\nAn odd one was seen.", Since: "0.1.0", Cost: time.Millisecond, Faults: faults,
		Run: func(_ context.Context, s string) (gates.Finding, error) {
			n, err := strconv.Atoi(s)
			switch {
			case s == "":
				return gates.Skip("no number"), nil
			case err != nil:
				return gates.NotApply("%s is no number", s), nil //nolint:nilerr // the error is the finding
			case n%2 != 0:
				return gates.Fail("wrong").With("%d is odd", n), nil
			case n < 0:
				return gates.Warn("%d is even and negative", n), nil
			}
			return gates.Pass("%d is even", n), nil
		},
	}
}

func number(_ *testing.T, a *txtar.Archive) string { return strings.TrimSpace(string(a.Files[0].Data)) }

func TestRun(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, []gates.Check[string]{even("even", "odd", "negative")}, number)
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if *broken == "" {
		t.Skip("run by TestRunFails")
	}
	name, faults, _ := strings.Cut(*broken, ":")
	c := even(name, strings.FieldsFunc(faults, func(r rune) bool { return r == ',' })...)
	gatetest.Run(t, []gates.Check[string]{c}, number)
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		broken string
		want   []string
	}{
		{"even:odd,negative", nil}, // the control: sound fixtures pass
		{"even", []string{"smoke/even: a check that has never failed proves nothing"}},
		{"even:odd", []string{"Faults differ from the fixtures", "negative"}},
		{"even:odd,negative,zero", []string{"Faults differ from the fixtures", "zero"}},
		{"unproven:odd", []string{"Faults differ from the fixtures"}},
		{"absent:odd", []string{"smoke/absent has no passing fixture in testdata/absent", "Faults differ from the fixtures"}},
		{"mistaken:odd", []string{`want words "2 is odd"`, "smoke/mistaken says failed (wrong), want passed", "3 is odd"}},
		{"misnamed:odd", []string{"broken-odd.txtar: the file name must begin with an outcome"}},
	} {
		t.Run(tt.broken, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$", "-broken="+tt.broken).CombinedOutput()
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("exit %v, want a failure: %t\n%s", err, tt.want != nil, out)
			}
			if i := slices.IndexFunc(tt.want, func(w string) bool { return !strings.Contains(string(out), w) }); i >= 0 {
				t.Errorf("the failure does not say %q:\n%s", tt.want[i], out)
			}
		})
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	a := txtar.Parse([]byte("number:  7 \nnumber: 8\nnot number: 9\n-- f --\nother: 1\n"))
	for key, want := range map[string]string{"number": "7", "not number": "9", "other": "", "": ""} {
		if got := gatetest.Field(a, key); got != want {
			t.Errorf("Field(%q) = %q, want %q", key, got, want)
		}
	}
}
