package selftest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/internal/faultproxy"
	"infbench/stages/endpoint"
)

func limits() endpoint.Limits {
	l := endpoint.DefaultLimits().Within(8 * time.Second)
	l.Settle = 400 * time.Millisecond
	return l
}

// The embedded engine is silent, a fault is caught by the check that is made for it, and
// a harmless one by nobody. The whole table is what infbench selftest makes.
func TestRun(t *testing.T) {
	t.Parallel()
	var told []string
	table, err := Run(t.Context(), Options{
		Only: []string{"stop-ignored", "comments", "unauthorized", "evicted-wrong"}, Limits: limits(), AtOnce: 3,
		Done: func(r Row) { told = append(told, r.Fault) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := table.Problems(); p != nil || len(table.Rows) != 6 || len(told) != 6 {
		t.Errorf("%d rows, %d told, problems %q", len(table.Rows), len(told), p)
	}
	want := map[string][]string{
		"stop-ignored": {"smoke/stop-strings"}, "comments": nil, "unauthorized": {opening}, "evicted-wrong": {"correctness/eviction"},
	}
	for _, r := range table.Rows {
		if got := r.Caught(); !slices.Equal(got, want[r.Fault]) {
			t.Errorf("%q is caught by %q, want %q", r.Fault, got, want[r.Fault])
		}
	}
	sole := table.Sole()
	if !slices.Equal(sole["smoke/stop-strings"], []string{"stop-ignored"}) || len(sole) != 3 {
		t.Errorf("what escapes without a check: %v", sole)
	}
}

func verdict(id string, f gates.Finding) gates.Verdict {
	return gates.Run(context.Background(), gates.Check[int]{ID: id, Run: func(context.Context, int) (gates.Finding, error) { return f, nil }}, 0)
}

// Each kind of defect is named: a fault that escapes, a harmless one and a healthy engine
// that trip a check, and a check that nothing depends on.
func TestProblems(t *testing.T) {
	t.Parallel()
	bad := verdict("smoke/usage", gates.Fail("wrong"))
	good := verdict("smoke/usage", gates.Pass("right"))
	fault := faultproxy.Info{ID: "x", Doc: "something", Stage: 2}
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{Fault: "x", Info: fault, Verdicts: []gates.Verdict{good}}, "x (something) escapes stages 1 to 2"},
		{Row{Fault: "x:above=2", Info: fault, Verdicts: []gates.Verdict{good}}, "x:above=2 (something) escapes stages 1 to 3"},
		{Row{Engine: "thinks", Verdicts: []gates.Verdict{bad}}, "the healthy engine (thinks) trips smoke/usage"},
		{Row{Fault: "y", Info: faultproxy.Info{ID: "y", Stage: 0}, Verdicts: []gates.Verdict{bad}}, "y is harmless, and trips smoke/usage"},
		{Row{Fault: "x", Info: fault, Verdicts: []gates.Verdict{bad}}, ""},
		{Row{Fault: "x", Info: fault, Unopened: "refused"}, ""},
	} {
		if got := c.row.Problem(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
	all := Table{All: true, Rows: []Row{{Fault: "x", Info: fault, Verdicts: []gates.Verdict{bad}}}}
	problems := strings.Join(all.Problems(), "\n")
	if strings.Contains(problems, "smoke/usage") || !strings.Contains(problems, "no fault escapes without smoke/known-answer") {
		t.Errorf("problems %s", problems)
	}
}

// What a real engine lacks by itself is warned of and is no defect, and the same warning
// under a fault is no catch; that it fails is.
func TestStandingAlarms(t *testing.T) {
	t.Parallel()
	warned, failed := verdict("smoke/usage", gates.Warn("so it is")), verdict("smoke/usage", gates.Fail("wrong"))
	fault := faultproxy.Info{ID: "x", Doc: "something", Stage: 2}
	standing := map[string]gates.Status{}
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{Real: true, Engine: "as it is", Verdicts: []gates.Verdict{warned}}, ""},
		{Row{Real: true, Fault: "x", Info: fault, Verdicts: []gates.Verdict{warned}}, "x (something) escapes stages 1 to 2"},
		{Row{Real: true, Fault: "x", Info: fault, Verdicts: []gates.Verdict{failed}}, ""},
		{Row{Real: true, Fault: "y", Info: faultproxy.Info{ID: "y", Stage: 0}, Verdicts: []gates.Verdict{warned}}, ""},
		{Row{Real: true, Engine: "as it is", Verdicts: []gates.Verdict{failed}}, "the healthy engine (as it is) trips smoke/usage"},
		{Row{Real: true, Fault: "x", Info: fault, Verdicts: []gates.Verdict{failed}}, "x (something) escapes stages 1 to 2"},
	} {
		c.row.stand(standing)
		if got := c.row.Problem(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
}

func TestUnknownFault(t *testing.T) {
	t.Parallel()
	if _, err := Rows(Options{Only: []string{"no-such"}}); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("got %v", err)
	}
	// All specs are read before anything is run.
	_, err := Rows(Options{Only: []string{"cut", "cut:nonsense=1", "reject:above=many"}})
	for _, want := range []string{"nonsense", "many"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not complained of: %v", want, err)
		}
	}
	if _, err := Run(t.Context(), Options{Only: []string{"cut:nonsense=1"}, Limits: limits()}); err == nil {
		t.Error("a bad parameter is accepted")
	}
}

// Named rows run the checks that name the fault, and a healthy one all of those.
func TestNamed(t *testing.T) {
	t.Parallel()
	table, err := Run(t.Context(), Options{Only: []string{"evicted-wrong", "tool-sorted"}, Named: true, AtOnce: 2, Limits: limits()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		var ids []string
		for _, v := range r.Verdicts {
			ids = append(ids, v.Check())
		}
		want := map[string]string{"": "correctness/property-order correctness/eviction", "evicted-wrong": "correctness/eviction", "tool-sorted": "correctness/property-order"}[r.Fault]
		if got := strings.Join(ids, " "); got != want || r.Problem() != "" {
			t.Errorf("%q runs %s, want %s; problem %q", r.Fault, got, want, r.Problem())
		}
	}
}
