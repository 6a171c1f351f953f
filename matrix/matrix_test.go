package matrix_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/matrix"
	"infbench/record"
	"infbench/record/recordtest"
)

func at(t *testing.T, r record.Run, when time.Time, id string) record.Run {
	t.Helper()
	p := r.Parts()
	p.Started, p.ID = when, id
	out, err := record.NewRun(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func failed(t *testing.T, id record.Identity) record.Run {
	t.Helper()
	required, verdicts := recordtest.Passing()
	verdicts = append(verdicts[:2:2], recordtest.Verdict("smoke/known-answer", gates.Fail("answered <b>!!!!</b> | x")))
	return recordtest.Run(id, recordtest.Ledger(id, required, verdicts, gates.NotRun{Stage: gates.Correctness, Why: "stage 2 failed"},
		gates.NotRun{Stage: gates.Performance, Why: "stage 2 failed"}))
}

func build(t *testing.T) matrix.Matrix {
	t.Helper()
	a, b := recordtest.Identity("sha256:aaaaaaaaaaaaaaaa", "rev1"), recordtest.Identity("sha256:bbbbbbbbbbbbbbbb", "rev1")
	other := recordtest.Identity("sha256:aaaaaaaaaaaaaaaa", "rev2")
	old, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	m := matrix.NewBuilder()
	m.Add(at(t, recordtest.PerfRun(a), late, "20260201T000000Z-00000002"))
	m.Add(at(t, failed(t, a), old, "20260101T000000Z-00000001"))
	m.Add(at(t, failed(t, b), late, "20260201T000000Z-00000003"))
	m.Add(at(t, recordtest.PerfRun(other), old, "20260101T000000Z-00000004"))
	m.Add(record.Run{})
	return m.Matrix()
}

func TestLatestRunDecidesAndFailuresAreRows(t *testing.T) {
	t.Parallel()
	cells := build(t).Cells()
	if len(cells) != 3 {
		t.Fatalf("%d cells, want 3", len(cells))
	}
	if c := cells[0]; c.Outcome != "passed" || c.Runs != 2 || c.Run != "20260201T000000Z-00000002" {
		t.Errorf("image a, rev1: %+v, want the later, passed run of two", c)
	}
	c := cells[2]
	if c.Outcome != "failed" || !strings.Contains(c.Why, "smoke/known-answer") || c.Measured {
		t.Errorf("image b: %+v", c)
	}
	if c.Stages[3] != "not run: stage 2 failed" {
		t.Errorf("stage 3 of image b: %q", c.Stages[3])
	}
}

func TestNoCellIsBlank(t *testing.T) {
	t.Parallel()
	var text, markdown strings.Builder
	m := build(t)
	if err := m.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := m.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text.String(), markdown.String()} {
		if !strings.Contains(got, "never run") || !strings.Contains(got, "failed PPF--") || !strings.Contains(got, "passed PPPP") {
			t.Errorf("the table is\n%s", got)
		}
	}
	if got := markdown.String(); strings.Contains(got, "<b>") || strings.Contains(got, "!!!! | x") {
		t.Errorf("untrusted text reaches the page:\n%s", got)
	}
	var js strings.Builder
	if err := m.JSON(&js); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cells []matrix.Cell }
	if err := json.Unmarshal([]byte(js.String()), &doc); err != nil || len(doc.Cells) != 3 {
		t.Errorf("%v, %d cells", err, len(doc.Cells))
	}
}

func TestIncompleteRunsSaySo(t *testing.T) {
	t.Parallel()
	p := recordtest.PerfRun(recordtest.Identity("sha256:aaaaaaaaaaaaaaaa", "rev1")).Parts()
	p.Ending = record.Ending{Cause: "interrupted"}
	r, err := record.NewRun(p)
	if err != nil {
		t.Fatal(err)
	}
	m := matrix.NewBuilder()
	m.Add(r)
	if c := m.Matrix().Cells()[0]; c.Outcome != "incomplete" || c.Why != "interrupted" {
		t.Errorf("%+v", c)
	}
}
