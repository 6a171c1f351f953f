package gates

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Subject is what verdicts are about: one server process with one
// configuration serving one model from one checkpoint. Two subjects are the same
// when they are ==. The zero Subject is nothing.
type Subject struct {
	endpoint   string
	engine     string
	model      string
	checkpoint string
	config     string
	process    string
}

// SubjectParts are the parts of a [Subject]. Endpoint is the redacted form of the
// address; parts that could not be learnt are empty. At least Endpoint or
// Checkpoint must be there: verdicts about nothing are no verdicts.
type SubjectParts struct {
	Endpoint   string `json:"endpoint,omitempty"`
	Engine     string `json:"engine,omitempty"`
	Model      string `json:"model,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
	Config     string `json:"config,omitempty"`
	Process    string `json:"process,omitempty"`
}

// NewSubject returns the subject made of the parts, or an error when they name
// nothing.
func NewSubject(p SubjectParts) (Subject, error) {
	if p.Endpoint == "" && p.Checkpoint == "" {
		return Subject{}, errors.New("a subject needs an endpoint or a checkpoint")
	}
	return Subject{
		part(p.Endpoint), part(p.Engine), part(p.Model), part(p.Checkpoint), part(p.Config), part(p.Process),
	}, nil
}

// maxPartRunes bounds a part of a subject, escapes included.
const maxPartRunes = 300

// part makes a part printable. A long one keeps its head and the hash of the whole:
// cut in the middle, two subjects could become the same, and a part that grew by
// the mark of the cut would be another one when it is read back.
func part(s string) string {
	p := Printable(s, 0)
	if utf8.RuneCountInString(p) <= maxPartRunes {
		return p
	}
	head := []rune(p)[:maxPartRunes-40]
	return fmt.Sprintf("%s… (sha256 %.8x)", string(head), sha256.Sum256([]byte(s)))
}

// Parts returns the subject's parts.
func (s Subject) Parts() SubjectParts {
	return SubjectParts{s.endpoint, s.engine, s.model, s.checkpoint, s.config, s.process}
}

// IsZero reports whether the subject is nothing.
func (s Subject) IsZero() bool { return s == Subject{} }

// String returns the subject in one line.
func (s Subject) String() string {
	if s.IsZero() {
		return "nothing"
	}
	var parts []string
	for _, p := range []string{s.model, s.engine, s.endpoint, s.checkpoint} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " · ")
}

// Difference names what differs between two subjects, or "" when they are the
// same.
func (s Subject) Difference(o Subject) string {
	var out []string
	for _, p := range [...]struct{ name, a, b string }{
		{"endpoint", s.endpoint, o.endpoint},
		{"engine", s.engine, o.engine},
		{"model", s.model, o.model},
		{"checkpoint", s.checkpoint, o.checkpoint},
		{"config", s.config, o.config},
		{"server process", s.process, o.process},
	} {
		if p.a != p.b {
			out = append(out, fmt.Sprintf("%s was %s, is %s", p.name, named(p.a), named(p.b)))
		}
	}
	return strings.Join(out, "; ")
}

func named(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// MarshalJSON refuses the zero Subject.
func (s Subject) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return nil, errors.New("a subject that is nothing does not marshal")
	}
	return json.Marshal(s.Parts())
}

// UnmarshalJSON goes through [NewSubject].
func (s *Subject) UnmarshalJSON(b []byte) error {
	var p SubjectParts
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	out, err := NewSubject(p)
	if err != nil {
		return err
	}
	*s = out
	return nil
}
