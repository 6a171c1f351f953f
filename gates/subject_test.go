package gates_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"infbench/gates"
)

func TestNewSubject(t *testing.T) {
	t.Parallel()
	for _, p := range []gates.SubjectParts{{}, {Engine: "e", Model: "m", Config: "c", Process: "p"}} {
		if s, err := gates.NewSubject(p); err == nil || !s.IsZero() {
			t.Errorf("%+v makes %v, %v; want a refusal", p, s, err)
		}
	}
	for _, p := range []gates.SubjectParts{{Endpoint: "http://h"}, {Checkpoint: "rev"}} {
		if s := subject(t, p); s.IsZero() || s.Parts() != p {
			t.Errorf("%+v came back as %+v", p, s.Parts())
		}
	}
	if got := (gates.Subject{}).String(); got != "nothing" {
		t.Errorf("the zero subject prints as %q", got)
	}
	if got := subject(t, gates.SubjectParts{Endpoint: "e\x1b[2J", Model: "m\nn"}).String(); got != `m\nn · e\u{1b}[2J` {
		t.Errorf("got %q", got)
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	a := gates.SubjectParts{Endpoint: "e1", Engine: "n1", Model: "m1", Checkpoint: "k1", Config: "c1", Process: "p1"}
	b := gates.SubjectParts{Endpoint: "e2", Engine: "n2", Model: "m2", Checkpoint: "k2", Config: "c2"}
	want := "endpoint was e1, is e2; engine was n1, is n2; model was m1, is m2; checkpoint was k1, is k2; config was c1, is c2; server process was p1, is unknown"
	if got := subject(t, a).Difference(subject(t, b)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := subject(t, a).Difference(subject(t, a)); got != "" {
		t.Errorf("a subject differs from itself: %s", got)
	}
	c := a
	c.Config = "c9"
	if got := subject(t, a).Difference(subject(t, c)); got != "config was c1, is c9" {
		t.Errorf("got %s", got)
	}
}

// Two subjects whose long parts differ in the middle alone are two subjects, and
// each is still itself after it was written and read.
func TestLongPartsStayDistinct(t *testing.T) {
	t.Parallel()
	long := func(middle string) gates.Subject {
		return subject(t, gates.SubjectParts{Endpoint: "e", Model: rep("a", 5000) + middle + rep("\x00", 5000)})
	}
	x, y := long("x"), long("y")
	if x == y || x.Difference(y) == "" {
		t.Errorf("they became the same: %s", x)
	}
	if n := utf8.RuneCountInString(x.Parts().Model); n > 300 {
		t.Errorf("the part has %d characters, want at most 300", n)
	}
	if !strings.HasPrefix(x.Parts().Model, rep("a", 200)) {
		t.Errorf("the head is lost: %s", x)
	}
	for _, s := range []gates.Subject{x, subject(t, gates.SubjectParts{Endpoint: "e", Model: rep("é", 300)}), subject(t, gates.SubjectParts{Endpoint: rep("\x00", 60)})} {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back gates.Subject
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Errorf("read back as another one: %v %s", err, s.Difference(back))
		}
	}
}

func TestSubjectRefusalLeavesItAlone(t *testing.T) {
	t.Parallel()
	s := box(t)
	for _, in := range []string{`{}`, `{"model":"m"}`, `null`, `3`} {
		if err := json.Unmarshal([]byte(in), &s); err == nil || s != box(t) {
			t.Errorf("%s reads as %s, %v", in, s, err)
		}
	}
}
