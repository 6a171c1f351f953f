package gates_test

import (
	"encoding/json"
	"testing"

	"infbench/gates"
)

func TestStages(t *testing.T) {
	t.Parallel()
	names := []string{"static", "hardware", "smoke", "correctness", "performance"}
	stages := gates.Stages()
	if len(stages) != len(names) {
		t.Fatalf("%d stages, want %d", len(stages), len(names))
	}
	for i, s := range stages {
		if s.Number() != i || s.String() != names[i] {
			t.Errorf("stage %d is number %d, %q", i, s.Number(), s)
		}
		if got, err := gates.StageOf(names[i] + "/x"); err != nil || got != s {
			t.Errorf("StageOf(%s/x) = %v, %v", names[i], got, err)
		}
	}
	if got := gates.Stage(9).String(); got != "stage(9)" {
		t.Errorf("got %q", got)
	}
	stages[0] = gates.Performance
	if gates.Stages()[0] != gates.Static {
		t.Error("the list of stages is no copy")
	}
}

func TestStageOf(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"smoke/a", "smoke/known-answer", "static/hdr.metadata", "smoke/a_1", "smoke/" + rep("a", 60)} {
		if s, err := gates.StageOf(id); err != nil {
			t.Errorf("%s: %v, %v", id, s, err)
		}
	}
	for _, id := range []string{
		"", "smoke", "smoke/", "/a", "Smoke/a", "smoke/A", "smoke/-a", "smoke/a-", "smoke/.", "smoke/a b", "smoke/a/b",
		"smoke/ä", "other/a", " smoke/a", "smoke/a\n", "smoke/" + rep("a", 61), "smoke/\x1b[2J",
	} {
		if s, err := gates.StageOf(id); err == nil {
			t.Errorf("%q belongs to %s, want a refusal", id, s)
		} else if bad := unprintable(err.Error()); bad != "" {
			t.Errorf("%q: the error holds %s", id, bad)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c    gates.Count
		n    int
		ok   bool
		or   int
		json string
	}{
		{gates.Count{}, 0, false, 7, "null"},
		{gates.CountOf(0), 0, true, 0, "0"},
		{gates.CountOf(90_380), 90_380, true, 90_380, "90380"},
	} {
		n, ok := tt.c.N()
		b, err := json.Marshal(tt.c)
		if n != tt.n || ok != tt.ok || tt.c.Or(7) != tt.or || err != nil || string(b) != tt.json {
			t.Errorf("%+v: N %d %t, Or(7) %d, JSON %s %v", tt, n, ok, tt.c.Or(7), b, err)
		}
	}
}
