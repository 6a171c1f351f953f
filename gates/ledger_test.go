package gates_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"infbench/gates"
)

func subject(t testing.TB, p gates.SubjectParts) gates.Subject {
	t.Helper()
	s, err := gates.NewSubject(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func box(t testing.TB) gates.Subject {
	return subject(t, gates.SubjectParts{Endpoint: "http://host-1:8000", Engine: "vllm 0.14", Model: "m", Checkpoint: "rev-1", Config: "c-1", Process: "p-1"})
}

// verdict makes a verdict on the public path: by running a check.
func verdict(t testing.TB, id string, f gates.Finding) gates.Verdict {
	t.Helper()
	return gates.Run(t.Context(), check(id, func(context.Context, int) (gates.Finding, error) { return f, nil }), 0)
}

// verdicts reads lines such as "smoke/a passed"; the ids are the required checks.
func verdicts(t testing.TB, lines ...string) (ids []string, out []gates.Verdict) {
	t.Helper()
	for _, line := range lines {
		id, status, _ := strings.Cut(line, " ")
		ids = append(ids, id)
		switch status {
		case "passed":
			out = append(out, verdict(t, id, gates.Pass("17 of 17")))
		case "warned":
			out = append(out, verdict(t, id, gates.Warn("slow")))
		case "na":
			out = append(out, verdict(t, id, gates.NotApply("dense")))
		case "skipped":
			out = append(out, gates.Unasked(id, "none was given"))
		case "failed":
			out = append(out, verdict(t, id, gates.Fail("wrong")))
		case "": // required, and nothing came of it
		default:
			t.Fatalf("unknown status in %q", line)
		}
	}
	return ids, out
}

func TestProve(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		lines   []string
		reasons []string // nil: proven
		caveats []string
	}{
		{"nothing required", nil, []string{"no check was required: that proves nothing"}, nil},
		{
			"all passed",
			[]string{"static/a passed", "hardware/a passed", "smoke/a passed", "correctness/a passed"},
			nil, nil,
		},
		{
			"only skipped checks",
			[]string{"smoke/a skipped", "correctness/a skipped"},
			[]string{"no check of stage 2 (smoke) passed", "no check of stage 3 (correctness) passed"},
			nil,
		},
		{
			"only checks that do not apply",
			[]string{"smoke/a na", "correctness/a na"},
			[]string{"no check of stage 2 (smoke) passed", "no check of stage 3 (correctness) passed"},
			nil,
		},
		{"a verdict is missing", []string{"smoke/a passed", "smoke/b", "correctness/a passed"}, []string{"the verdict of smoke/b is missing"}, nil},
		{
			"two verdicts",
			[]string{"smoke/a passed", "smoke/a passed", "correctness/a passed"},
			[]string{"smoke/a has two verdicts", "smoke/a is required twice"},
			nil,
		},
		{"stage 0 failed", []string{"static/a failed", "smoke/a passed", "correctness/a passed"}, []string{"static/a failed: wrong"}, nil},
		{"stage 1 failed", []string{"hardware/a failed", "smoke/a passed", "correctness/a passed"}, []string{"hardware/a failed: wrong"}, nil},
		{"stage 2 failed beside a pass", []string{"smoke/a passed", "smoke/b failed", "correctness/a passed"}, []string{"smoke/b failed: wrong"}, nil},
		{"stage 3 failed beside a pass", []string{"smoke/a passed", "correctness/a passed", "correctness/b failed"}, []string{"correctness/b failed: wrong"}, nil},
		{"every failure is named", []string{"static/a failed", "hardware/a failed", "smoke/a failed", "correctness/a passed"}, []string{
			"static/a failed: wrong", "hardware/a failed: wrong", "smoke/a failed: wrong", "no check of stage 2 (smoke) passed",
		}, nil},
		{"stage 2 without a pass", []string{"smoke/a skipped", "correctness/a passed"}, []string{"no check of stage 2 (smoke) passed"}, nil},
		{"stage 3 without a pass", []string{"smoke/a passed", "correctness/a skipped"}, []string{"no check of stage 3 (correctness) passed"}, nil},
		{"stage 3 was never required", []string{"smoke/a passed"}, []string{"no check of stage 3 (correctness) passed"}, nil},
		{
			"stages 0 and 1 were skipped",
			[]string{"static/a skipped", "static/b skipped", "hardware/a skipped", "smoke/a passed", "correctness/a passed"},
			nil,
			[]string{"stage 0 (static) was skipped: none was given", "stage 1 (hardware) was skipped: none was given"},
		},
		{
			"one check of stage 0 was skipped",
			[]string{"static/a passed", "static/b skipped", "smoke/a passed", "correctness/a passed"},
			nil,
			[]string{"static/b skipped: none was given"},
		},
		{
			"stage 0 has nothing but skipped and does not apply",
			[]string{"static/a na", "static/b skipped", "smoke/a passed", "correctness/a passed"},
			nil,
			[]string{"stage 0 (static) was skipped: none was given"},
		},
		{
			"a warning is a pass with a caveat",
			[]string{"smoke/a warned", "correctness/a passed", "correctness/b skipped", "correctness/c na"},
			nil,
			[]string{"smoke/a warned: slow", "correctness/b skipped: none was given"},
		},
		{
			"performance is no gate",
			[]string{"smoke/a passed", "correctness/a passed", "performance/a passed"},
			[]string{"performance/a is no gate: it belongs to the numbers"},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ids, vs := verdicts(t, tt.lines...)
			g, err := gates.Prove(box(t), ids, vs)
			if tt.reasons == nil {
				if err != nil || !g.Satisfied() {
					t.Fatalf("got %v, %v, want a proof", g, err)
				}
				if diff := cmp.Diff(tt.caveats, g.Caveats()); diff != "" {
					t.Errorf("caveats (-want +got):\n%s", diff)
				}
				return
			}
			var unsatisfied *gates.UnsatisfiedError
			if !errors.As(err, &unsatisfied) {
				t.Fatalf("got %v, want an *UnsatisfiedError", err)
			}
			if diff := cmp.Diff(tt.reasons, unsatisfied.Reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if g.Satisfied() || !g.Subject().IsZero() || !strings.HasPrefix(err.Error(), "the gates are not satisfied: ") {
				t.Errorf("a refusal left %v, %v", g, err)
			}
		})
	}
}

func TestNewLedgerRefusals(t *testing.T) {
	t.Parallel()
	passed := verdict(t, "smoke/a", gates.Pass("fine"))
	tests := []struct {
		name     string
		subject  gates.Subject
		required []string
		verdicts []gates.Verdict
		notRun   []gates.NotRun
		want     string
	}{
		{"empty subject", gates.Subject{}, []string{"smoke/a"}, []gates.Verdict{passed}, nil, "verdicts about nothing: the subject is empty"},
		{"nothing required", box(t), nil, []gates.Verdict{passed}, nil, "no check was required: that proves nothing\nsmoke/a has a verdict but was not required"},
		{"verdict of an unknown check", box(t), []string{"smoke/b"}, []gates.Verdict{passed}, nil, "smoke/a has a verdict but was not required\nthe verdict of smoke/b is missing"},
		{"two verdicts", box(t), []string{"smoke/a"}, []gates.Verdict{passed, passed}, nil, "smoke/a has two verdicts"},
		{"required twice", box(t), []string{"smoke/a", "smoke/a"}, []gates.Verdict{passed}, nil, "smoke/a is required twice"},
		{"stage did not run, and has a verdict", box(t), []string{"smoke/a"}, []gates.Verdict{passed}, []gates.NotRun{{gates.Smoke, "no server"}}, "smoke/a has a verdict but its stage did not run"},
		{"stage not run twice", box(t), []string{"smoke/a"}, nil, []gates.NotRun{{gates.Smoke, "x"}, {gates.Smoke, "y"}}, "stage 2 is listed as not run twice, or does not exist"},
		{"no such stage", box(t), []string{"smoke/a"}, []gates.Verdict{passed}, []gates.NotRun{{gates.Stage(5), "x"}}, "stage 5 is listed as not run twice, or does not exist"},
		{"zero verdict", box(t), []string{"smoke/a"}, []gates.Verdict{passed, {}}, nil, `check id "": want stage/name with one of the stages static, hardware, smoke, correctness, performance`},
		{"malformed required id", box(t), []string{"smoke/a", "smoke"}, []gates.Verdict{passed}, nil, `check id "smoke": want stage/name with one of the stages static, hardware, smoke, correctness, performance`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := gates.NewLedger(tt.subject, tt.required, tt.verdicts, tt.notRun)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if !l.IsZero() {
				t.Errorf("a refusal left %+v", l)
			}
		})
	}
}

// A run that stopped after stage 2 is a ledger, and no proof.
func TestStoppedRun(t *testing.T) {
	t.Parallel()
	ids, vs := verdicts(t, "static/a passed", "smoke/a failed", "correctness/a", "performance/a")
	l, err := gates.NewLedger(box(t), ids, vs, []gates.NotRun{{gates.Correctness, "stage 2\x1b failed"}, {gates.Performance, "stage 2 failed"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		stage  gates.Stage
		status gates.Status
		why    string
		ok     bool
	}{
		{gates.Static, gates.Passed, "", true},
		{gates.Hardware, 0, "", false},
		{gates.Smoke, gates.Failed, "smoke/a: wrong", true},
		{gates.Correctness, gates.Skipped, `not run: stage 2\u{1b} failed`, true},
		{gates.Performance, gates.Skipped, "not run: stage 2 failed", true},
	} {
		if status, why, ok := l.Outcome(tt.stage); status != tt.status || why != tt.why || ok != tt.ok {
			t.Errorf("%s came to %s %q %t, want %s %q %t", tt.stage, status, why, ok, tt.status, tt.why, tt.ok)
		}
	}
	_, err = l.Gates()
	want := `the gates are not satisfied: stage 3 (correctness) did not run: stage 2\u{1b} failed; smoke/a failed: wrong; ` +
		"no check of stage 2 (smoke) passed; no check of stage 3 (correctness) passed"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A stage that did not run is never taken for one that was skipped.
func TestStageThatDidNotRunIsNoProof(t *testing.T) {
	t.Parallel()
	ids, vs := verdicts(t, "static/a", "smoke/a passed", "correctness/a passed")
	l, err := gates.NewLedger(box(t), ids, vs, []gates.NotRun{{gates.Static, "interrupted"}})
	if err != nil {
		t.Fatal(err)
	}
	if g, err := l.Gates(); err == nil || !strings.Contains(err.Error(), "stage 0 (static) did not run: interrupted") {
		t.Errorf("got %v, %v", g, err)
	}
}

func TestGatesLeavePerformanceOut(t *testing.T) {
	t.Parallel()
	ids, vs := verdicts(t, "smoke/a passed", "correctness/a passed", "performance/a failed")
	l, err := gates.NewLedger(box(t), ids, vs, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := l.Gates()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"smoke/a", "correctness/a"}, g.Ledger().Required()); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if want := "2 verdicts about m · vllm 0.14 · http://host-1:8000 · rev-1, none failed"; g.String() != want {
		t.Errorf("got %q, want %q", g, want)
	}
}

func TestZeroValuesProveNothing(t *testing.T) {
	t.Parallel()
	for _, v := range []any{gates.GateSet{}, gates.Ledger{}, gates.Subject{}} {
		if b, err := json.Marshal(v); err == nil {
			t.Errorf("the zero %T marshals as %s", v, b)
		}
	}
	var g gates.GateSet
	if g.Satisfied() || g.String() != "no proof" || g.Caveats() != nil {
		t.Errorf("the zero gate set: %t %q %v", g.Satisfied(), g, g.Caveats())
	}
	if got, err := (gates.Ledger{}).Gates(); err == nil || got.Satisfied() || !strings.Contains(err.Error(), "there are no verdicts") {
		t.Errorf("the zero ledger proves %v, %v", got, err)
	}
	if !(gates.Ledger{}).Of(gates.Smoke).IsZero() {
		t.Error("part of the zero ledger is not zero")
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lines []string
		want  gates.Status
		why   string
	}{
		{nil, gates.Skipped, "nothing was asked"},
		{[]string{"smoke/a passed", "smoke/b na"}, gates.Passed, ""},
		{[]string{"smoke/a na"}, gates.NotApplicable, "smoke/a: dense"},
		{[]string{"smoke/a na", "smoke/b skipped"}, gates.Skipped, "smoke/b: none was given"},
		{[]string{"smoke/a passed", "smoke/b skipped"}, gates.Warned, "smoke/b: none was given"},
		{[]string{"smoke/a skipped", "smoke/b warned"}, gates.Warned, "smoke/b: slow"},
		{[]string{"smoke/a warned", "smoke/b failed", "smoke/c skipped"}, gates.Failed, "smoke/b: wrong"},
	} {
		_, vs := verdicts(t, tt.lines...)
		if got, why := gates.Summarise(vs); got != tt.want || why != tt.why {
			t.Errorf("%v came to %s %q, want %s %q", tt.lines, got, why, tt.want, tt.why)
		}
	}
}

func TestLedgerSlicesAreCopies(t *testing.T) {
	t.Parallel()
	ids, vs := verdicts(t, "static/a", "smoke/a passed")
	notRun := []gates.NotRun{{gates.Static, "none"}}
	l, err := gates.NewLedger(box(t), ids, vs, notRun)
	if err != nil {
		t.Fatal(err)
	}
	ids[0], vs[0], notRun[0].Why = "x", gates.Verdict{}, "x"
	l.Required()[0], l.Verdicts()[0], l.NotRun()[0] = "x", gates.Verdict{}, gates.NotRun{Why: "x"}
	if l.Required()[0] != "static/a" || l.Verdicts()[0].Check() != "smoke/a" || l.NotRun()[0].Why != "none" {
		t.Errorf("the ledger shares its slices: %v %v %v", l.Required(), l.Verdicts(), l.NotRun())
	}
}

// proof returns a gate set that holds what may be long or hostile.
func proof(t testing.TB) gates.GateSet {
	t.Helper()
	ids, vs := verdicts(t, "static/a skipped", "hardware/a na", "smoke/a passed")
	long := rep("\x1b[2J漢", 2000)
	ids = append(ids, "correctness/a")
	vs = append(vs, verdict(t, "correctness/a", gates.Warn("%s", long).With("%s", long).With("short").Because(long).Then(long)))
	s := subject(t, gates.SubjectParts{Endpoint: "http://host-1:8000", Model: rep("very/long\x00", 200), Config: "c"})
	g, err := gates.Prove(s, ids, vs)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// What was written is read back equal, however long or hostile it was: an excerpt
// is not cut a second time, and the subject is still the same subject.
func TestGateSetRoundTrip(t *testing.T) {
	t.Parallel()
	g := proof(t)
	b, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var back gates.GateSet
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.Subject() != g.Subject() {
		t.Errorf("the subject changed: %s", g.Subject().Difference(back.Subject()))
	}
	again, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), string(again)); diff != "" {
		t.Errorf("written again it differs (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(g.Caveats(), back.Caveats()); diff != "" {
		t.Errorf("caveats (-before +after):\n%s", diff)
	}
}

func TestStoppedLedgerRoundTrip(t *testing.T) {
	t.Parallel()
	ids, vs := verdicts(t, "smoke/a failed", "correctness/a")
	l, err := gates.NewLedger(box(t), ids, vs, []gates.NotRun{{gates.Correctness, rep("\x1b漢", 900)}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var back gates.Ledger
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.NotRun(), back.NotRun()); diff != "" {
		t.Errorf("not run (-before +after):\n%s", diff)
	}
}

// wire is a gate set as a record holds it, written by hand.
func wire(required string, verdicts ...string) string {
	return fmt.Sprintf(`{"subject":{"endpoint":"http://h:1"},"required":[%s],"verdicts":[%s]}`, required, strings.Join(verdicts, ","))
}

const (
	wireSmoke   = `{"check":"smoke/a","status":"passed","summary":"fine","took_ms":12}`
	wireCorrect = `{"check":"correctness/a","status":"passed","summary":"fine","took_ms":12}`
)

func TestGateSetFromFile(t *testing.T) {
	t.Parallel()
	both := `"smoke/a","correctness/a"`
	tests := []struct{ name, in, want string }{
		{"as written", wire(both, wireSmoke, wireCorrect), ""},
		{"fields of a later version", strings.Replace(wire(both, wireSmoke, wireCorrect), "{", `{"later":1,`, 1), ""},
		{"null", `null`, "the subject is empty"},
		{"empty object", `{}`, "the subject is empty"},
		{"asserted", `{"satisfied":true,"subject":{"endpoint":"x"},"required":[],"verdicts":[]}`, "no check was required"},
		{"a verdict was deleted", wire(both, wireSmoke), "the verdict of correctness/a is missing"},
		{"a verdict and its demand were deleted", wire(`"smoke/a"`, wireSmoke), "no check of stage 3 (correctness) passed"},
		{"a failure", wire(both, wireSmoke, strings.Replace(wireCorrect, "passed", "failed", 1)), "correctness/a failed: fine"},
		{"unknown status", wire(both, wireSmoke, strings.Replace(wireCorrect, "passed", "ok", 1)), `unknown status "ok"`},
		{"no status", wire(both, wireSmoke, `{"check":"correctness/a","summary":"fine"}`), "the verdict of correctness/a has no status"},
		{"malformed id", wire(both, wireSmoke, strings.Replace(wireCorrect, "correctness/a", `correctness`, 1)), `check id "correctness"`},
		{"negative time", wire(both, wireSmoke, strings.Replace(wireCorrect, "12", "-1", 1)), "took -1 ms"},
		{"time that overflows", wire(both, wireSmoke, strings.Replace(wireCorrect, "12", "9223372036854775807", 1)), "took 9223372036854775807 ms"},
		{"subject without address", strings.Replace(wire(both, wireSmoke, wireCorrect), "endpoint", "model", 1), "needs an endpoint or a checkpoint"},
		{"performance", wire(both+`,"performance/a"`, wireSmoke, wireCorrect, strings.Replace(wireSmoke, "smoke", "performance", 1)), "is no gate"},
		{
			"stage did not run", strings.Replace(wire(both, wireSmoke), "}]", `}],"not_run":[{"stage":3,"why":"interrupted"}]`, 1),
			"stage 3 (correctness) did not run: interrupted",
		},
		{"stage that does not exist", strings.Replace(wire(both, wireSmoke, wireCorrect), `"required"`, `"not_run":[{"stage":9,"why":"x"}],"required"`, 1), "or does not exist"},
		{"not an object", `[]`, "cannot unmarshal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := proof(t) // an earlier proof must not survive a refusal
			err := json.Unmarshal([]byte(tt.in), &g)
			if tt.want == "" {
				if err != nil || g.Subject().String() != "http://h:1" {
					t.Fatalf("got %v, %v", g, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if g.Satisfied() {
				t.Errorf("an error and a proof at once: %v", g)
			}
		})
	}
}

func TestHostileRecordIsPrintable(t *testing.T) {
	t.Parallel()
	hostile := `\u001b[2J\u202e` + rep("x", 1<<20)
	in := wire(`"smoke/a","correctness/a"`, wireSmoke, fmt.Sprintf(
		`{"check":"correctness/a","status":"warned","summary":"%[1]s","evidence":["%[1]s"],"causes":["%[1]s"],"next":["%[1]s"]}`, hostile))
	var g gates.GateSet
	if err := json.Unmarshal([]byte(in), &g); err != nil {
		t.Fatal(err)
	}
	v := g.Ledger().Verdicts()[1]
	for _, s := range []string{v.Summary(), v.Evidence()[0], v.Causes()[0], v.Next()[0], strings.Join(g.Caveats(), "")} {
		if bad := unprintable(s); bad != "" || len(s) > 10_000 {
			t.Errorf("%d bytes from the file, holding %q", len(s), bad)
		}
	}
}

func FuzzGateSet(f *testing.F) {
	both := `"smoke/a","correctness/a"`
	f.Add([]byte(wire(both, wireSmoke, wireCorrect)))
	f.Add([]byte(wire(both, wireSmoke)))
	f.Add([]byte(`{"subject":{"checkpoint":"c\u0000"},"required":["static/a"],"not_run":[{"stage":0,"why":"x"}]}`))
	f.Add([]byte(strings.Replace(wire(both, wireSmoke, wireCorrect), "passed", "failed", 1)))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var g gates.GateSet
		err := json.Unmarshal(b, &g)
		if (err == nil) != g.Satisfied() {
			t.Fatalf("error %v and satisfied %t at once", err, g.Satisfied())
		}
		if err != nil {
			return
		}
		for _, v := range g.Ledger().Verdicts() {
			if v.Status() == gates.Failed || v.Stage() == gates.Performance {
				t.Errorf("%s %s stands in a proof", v.Check(), v.Status())
			}
		}
		out, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		var back gates.GateSet
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, out)
		}
		if back.Subject() != g.Subject() {
			t.Errorf("the subject changed: %s", g.Subject().Difference(back.Subject()))
		}
		if again, err := json.Marshal(back); err != nil || string(again) != string(out) {
			t.Errorf("written again it differs: %v\n%s\n%s", err, out, again)
		}
	})
}
