package gates_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"infbench/gates"
)

// statuses are the outcomes with their written names, as records hold them.
var statuses = map[gates.Status]string{
	gates.Passed: "passed", gates.Warned: "warned", gates.NotApplicable: "not_applicable", gates.Skipped: "skipped", gates.Failed: "failed",
}

func TestStatusText(t *testing.T) {
	t.Parallel()
	for s, name := range statuses {
		if s.String() != name {
			t.Errorf("status %d prints as %q, want %q", s, s, name)
		}
		b, err := s.MarshalText()
		if err != nil || string(b) != name {
			t.Errorf("%s marshals as %q, %v", name, b, err)
		}
		var back gates.Status
		if err := back.UnmarshalText([]byte(name)); err != nil || back != s {
			t.Errorf("%q reads as %d, %v, want %d", name, back, err, s)
		}
	}
}

func TestStatusRefusals(t *testing.T) {
	t.Parallel()
	for _, s := range []gates.Status{0, 6, 255} {
		if b, err := s.MarshalText(); err == nil {
			t.Errorf("status %d marshals as %q", s, b)
		}
		if got := s.String(); got != "no status" {
			t.Errorf("status %d prints as %q", s, got)
		}
	}
	for _, text := range []string{"", "ok", "Passed", "passed ", "no status", "\x1b[2J"} {
		s := gates.Failed
		err := s.UnmarshalText([]byte(text))
		if err == nil || s != gates.Failed {
			t.Errorf("%q reads as %s, %v; want an error and the status left alone", text, s, err)
		}
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("the error echoes an escape: %q", err)
		}
	}
}

func TestZeroFindingDoesNotMarshal(t *testing.T) {
	t.Parallel()
	for _, v := range []any{gates.Finding{}, gates.Finding{}.With("x"), gates.Verdict{}} {
		if b, err := json.Marshal(v); err == nil {
			t.Errorf("%T without outcome marshals as %s", v, b)
		}
	}
}

func TestFindingIsBoundedAndPrintable(t *testing.T) {
	t.Parallel()
	hostile := rep("\x1b[2J\u202e", 5000)
	f := gates.Fail("got %s", hostile)
	for range 50 {
		f = f.With("saw %s", hostile)
	}
	f = f.Because(slices.Repeat([]string{hostile}, 50)...).Then(slices.Repeat([]string{hostile}, 50)...)
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Summary                string
		Evidence, Causes, Next []string
	}
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	// 12 lines of evidence of 480 characters, 8 causes and 8 commands of 400, each
	// character an escape of ten at most.
	for name, list := range map[string]struct {
		got         []string
		lines, each int
	}{
		"summary": {[]string{w.Summary}, 1, 400}, "evidence": {w.Evidence, 12, 480}, "causes": {w.Causes, 8, 400}, "next": {w.Next, 8, 400},
	} {
		if len(list.got) != list.lines {
			t.Errorf("%s: %d lines, want %d", name, len(list.got), list.lines)
		}
		for _, s := range list.got {
			if n := utf8.RuneCountInString(s); n > 10*list.each+40 {
				t.Errorf("%s: a line of %d characters", name, n)
			}
			if bad := unprintable(s); bad != "" {
				t.Errorf("%s holds %s", name, bad)
			}
		}
	}
}

func TestFindingIsAValue(t *testing.T) {
	t.Parallel()
	base := gates.Warn("slow").With("first").Because("a").Then("b")
	left, right := base.With("left"), base.With("right")
	if fmt.Sprint(base.Evidence(), left.Evidence(), right.Evidence()) != "[first] [first left] [first right]" {
		t.Errorf("findings share their evidence: %v %v %v", base.Evidence(), left.Evidence(), right.Evidence())
	}
	base.Evidence()[0] = "changed"
	if got := base.Evidence()[0]; got != "first" {
		t.Errorf("the returned evidence is no copy: %q", got)
	}
	if base.Status() != gates.Warned || base.Summary() != "slow" {
		t.Errorf("got %s %q", base.Status(), base.Summary())
	}
}

func TestConstructorsSayTheirStatus(t *testing.T) {
	t.Parallel()
	for want, f := range map[gates.Status]gates.Finding{
		gates.Passed: gates.Pass("n=%d", 3), gates.Warned: gates.Warn("n=%d", 3), gates.Skipped: gates.Skip("n=%d", 3),
		gates.NotApplicable: gates.NotApply("n=%d", 3), gates.Failed: gates.Fail("n=%d", 3),
	} {
		if f.Status() != want || f.Summary() != "n=3" {
			t.Errorf("got %s %q, want %s n=3", f.Status(), f.Summary(), want)
		}
	}
}

// A verdict may be given one more command to run next, printable and within the bound.
func TestThenOneMore(t *testing.T) {
	t.Parallel()
	v := gates.Run(t.Context(), check("smoke/x", returns(gates.Fail("no").Then("a", "b"), nil)), lacking{})
	got := v.Then("c\x1b").Next()
	if want := []string{"a", "b", `c\u{1b}`}; !slices.Equal(got, want) || len(v.Next()) != 2 {
		t.Errorf("got %q, want %q, and the first one has %q", got, want, v.Next())
	}
	for range 20 {
		v = v.Then("more")
	}
	if n := len(v.Next()); n != 8 {
		t.Errorf("%d commands, want at most 8", n)
	}
}
