package gates_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"infbench/gates"
)

func aGrid(t *testing.T) gates.Grid {
	t.Helper()
	g, err := gates.NewGrid("tokens", "position", []string{"3 %", "50 %", "97 %"}, []gates.GridRow{
		{Label: "512", Cells: []gates.Cell{gates.Right, gates.Right, gates.Right}},
		{Label: "2048", Cells: []gates.Cell{gates.Wrong, gates.Beyond, gates.NotAsked}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGridRefuses(t *testing.T) {
	t.Parallel()
	many := make([]string, 65)
	for name, c := range map[string]struct {
		columns []string
		rows    []gates.GridRow
	}{
		"no row":       {[]string{"a"}, nil},
		"no column":    {nil, []gates.GridRow{{Label: "1"}}},
		"uneven":       {[]string{"a", "b"}, []gates.GridRow{{Label: "1", Cells: []gates.Cell{gates.Right}}}},
		"too wide":     {many, []gates.GridRow{{Label: "1", Cells: make([]gates.Cell, 65)}}},
		"unknown cell": {[]string{"a"}, []gates.GridRow{{Label: "1", Cells: []gates.Cell{99}}}},
	} {
		if _, err := gates.NewGrid("tokens", "position", c.columns, c.rows); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What a verdict holds of a picture and a condition comes back from a record as it was.
func TestGridAndConditionRoundTrip(t *testing.T) {
	t.Parallel()
	want := aGrid(t)
	v := verdict(t, "smoke/drawn", gates.Fail("wrong").Under(gates.Cache).Drawn(want))
	l, err := gates.NewLedger(box(t), []string{"smoke/drawn"}, []gates.Verdict{v}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{`"condition":"cache"`, `"cells":"X· "`, `"down":"tokens"`} {
		if !strings.Contains(string(b), words) {
			t.Errorf("the record lacks %s: %s", words, b)
		}
	}
	var back gates.Ledger
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	got := back.Verdicts()[0]
	if got.Condition() != gates.Cache {
		t.Errorf("condition %q", got.Condition())
	}
	if diff := cmp.Diff(want.Rows(), got.Grid().Rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Columns(), got.Grid().Columns()); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// A record is untrusted: what is no grid is none, and labels cannot write to a terminal.
func TestHostileGrid(t *testing.T) {
	t.Parallel()
	read := func(grid string) gates.Verdict {
		t.Helper()
		s, err := json.Marshal(box(t))
		if err != nil {
			t.Fatal(err)
		}
		var l gates.Ledger
		doc := `{"subject":` + string(s) + `,"required":["smoke/a"],"verdicts":[{"check":"smoke/a","status":"failed","summary":"x","took_ms":1,"grid":` + grid + `}]}`
		if err := json.Unmarshal([]byte(doc), &l); err != nil {
			t.Fatalf("%s: %v", grid, err)
		}
		return l.Verdicts()[0]
	}
	for _, bad := range []string{
		`{"down":"a","across":"b","columns":["1"],"rows":[{"label":"1","cells":"?"}]}`,
		`{"down":"a","across":"b","columns":["1"],"rows":[{"label":"1","cells":"██"}]}`,
		`{"columns":["1"]}`,
	} {
		if !read(bad).Grid().IsZero() {
			t.Errorf("%s is taken for a grid", bad)
		}
	}
	g := read(`{"down":"\u001b[31m","across":"b","columns":["1"],"rows":[{"label":"\u001b]0;x\u0007","cells":"█"}]}`).Grid()
	if g.IsZero() || strings.ContainsAny(g.Down()+g.Rows()[0].Label, "\x1b\x07") {
		t.Errorf("a label is not made printable: %q %q", g.Down(), g.Rows())
	}
}

// The most votes of the failed decide, then those of the warned; of equals the first.
func TestConditionOf(t *testing.T) {
	t.Parallel()
	v := func(f gates.Finding) gates.Verdict { return verdict(t, "smoke/a", f) }
	company, cache := v(gates.Fail("x").Under(gates.Company)), v(gates.Fail("x").Under(gates.Cache))
	for name, c := range map[string]struct {
		verdicts []gates.Verdict
		want     gates.Condition
	}{
		"nothing":          {nil, 0},
		"passed":           {[]gates.Verdict{v(gates.Pass("x"))}, 0},
		"most":             {[]gates.Verdict{company, cache, cache}, gates.Cache},
		"equals":           {[]gates.Verdict{cache, company}, gates.Company},
		"warned":           {[]gates.Verdict{v(gates.Warn("x").Under(gates.Depth))}, gates.Depth},
		"failed first":     {[]gates.Verdict{v(gates.Warn("x").Under(gates.Depth)), cache}, gates.Cache},
		"failed says none": {[]gates.Verdict{v(gates.Warn("x").Under(gates.Depth)), v(gates.Fail("x"))}, 0},
	} {
		if got := gates.ConditionOf(c.verdicts); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range gates.Conditions() {
		b, err := c.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back gates.Condition
		if err := back.UnmarshalText(b); err != nil || back != c || c.Words() == "" {
			t.Errorf("%v comes back as %v (%v), words %q", c, back, err, c.Words())
		}
	}
	var c gates.Condition
	if err := c.UnmarshalText([]byte("weather")); err == nil {
		t.Error("an unknown condition is taken")
	}
	if _, err := gates.Condition(200).MarshalText(); err == nil {
		t.Error("condition 200 has a text form")
	}
}
