package gates_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/gates"
)

func passing(id string) gates.Check[int] {
	return check(id, func(context.Context, int) (gates.Finding, error) { return gates.Pass("fine"), nil })
}

// refusal returns what adding the check panics with, or "".
func refusal(r *gates.Registry[int], c gates.Check[int]) (why string) {
	defer func() {
		switch p := recover().(type) {
		case error:
			why = p.Error()
		case string:
			why = p
		}
	}()
	r.Add(c)
	return ""
}

func TestRegistryRefusals(t *testing.T) {
	t.Parallel()
	undocumented := passing("smoke/b")
	undocumented.Doc = ""
	for _, tt := range []struct {
		name string
		c    gates.Check[int]
		want string
	}{
		{"another one", passing("smoke/b"), ""},
		{"invalid", undocumented, "smoke/b: the first line of Doc must be the claim"},
		{"malformed id", passing("b"), `check id "b": want stage/name`},
		{"double", passing("smoke/a"), "gates: smoke/a cannot stand beside smoke/a"},
		{"other stage", passing("static/b"), "gates: static/b cannot stand beside smoke/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r gates.Registry[int]
			if id := r.Add(passing("smoke/a")); id != "smoke/a" {
				t.Errorf("Add returned %q", id)
			}
			got := refusal(&r, tt.c)
			if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if n := len(r.All()); (n == 2) != (tt.want == "") {
				t.Errorf("the registry holds %d checks afterwards", n)
			}
		})
	}
}

func TestRegistryOrder(t *testing.T) {
	t.Parallel()
	var r gates.Registry[int]
	for _, tt := range []struct {
		id   string
		cost time.Duration
		late bool
	}{
		{"smoke/late-cheap", time.Millisecond, true},
		{"smoke/dear", time.Minute, false},
		{"smoke/b", time.Second, false},
		{"smoke/late-a", time.Hour, true},
		{"smoke/a", time.Second, false},
		{"smoke/cheap", time.Millisecond, false},
	} {
		c := passing(tt.id)
		c.Cost, c.Late = tt.cost, tt.late
		r.Add(c)
	}
	want := []string{"smoke/cheap", "smoke/a", "smoke/b", "smoke/dear", "smoke/late-cheap", "smoke/late-a"}
	var got []string
	for _, i := range r.Infos() {
		got = append(got, i.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	r.All()[0].ID = "x"
	if r.All()[0].ID != "smoke/cheap" {
		t.Error("the returned list is no copy")
	}
	if got := (&gates.Registry[int]{}).All(); len(got) != 0 {
		t.Errorf("the zero registry holds %v", got)
	}
}
