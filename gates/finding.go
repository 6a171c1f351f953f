package gates

import (
	"encoding/json"
	"fmt"
)

// Status is what became of a claim. The zero value is no status at all: it does
// not marshal, and a check that returns it has failed.
type Status uint8

// The outcomes of a check.
const (
	_             Status = iota
	Passed               // the claim was asked and held
	Warned               // it held, with a reservation
	NotApplicable        // the claim has no meaning for this subject
	Skipped              // it could not be asked; this is never a pass
	Failed               // it was asked and did not hold
)

var statusNames = [...]string{"", "passed", "warned", "not_applicable", "skipped", "failed"}

// String returns the status as written in records and reports.
func (s Status) String() string {
	if s == 0 || int(s) >= len(statusNames) {
		return "no status"
	}
	return statusNames[s]
}

// MarshalText refuses the zero status.
func (s Status) MarshalText() ([]byte, error) {
	if s == 0 || int(s) >= len(statusNames) {
		return nil, fmt.Errorf("status %d has no text form", uint8(s))
	}
	return []byte(statusNames[s]), nil
}

// UnmarshalText accepts exactly the known names.
func (s *Status) UnmarshalText(b []byte) error {
	for i, n := range statusNames {
		if i > 0 && n == string(b) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("unknown status %s", Quote(string(b), 40))
}

// Limits on what a finding may carry, so that a hostile server cannot fill a
// record or a terminal.
const (
	maxSummaryRunes  = 400
	maxEvidenceRunes = 480
	maxEvidence      = 12
	maxCauses        = 8
)

// A Finding is what one check saw. [Pass], [Warn], [Skip], [NotApply] and [Fail]
// make one; the zero Finding counts as a failure of the check. Its texts are safe
// to print: they have been through [Printable].
type Finding struct {
	status   Status
	summary  string
	evidence []string
	causes   []string
	next     []string
	when     Condition
	grid     Grid
}

// Pass returns a finding that the claim held; say by how much.
func Pass(format string, a ...any) Finding { return finding(Passed, format, a) }

// Warn returns a finding that the claim held with a reservation.
func Warn(format string, a ...any) Finding { return finding(Warned, format, a) }

// Skip returns a finding that the claim could not be asked, and why.
func Skip(format string, a ...any) Finding { return finding(Skipped, format, a) }

// NotApply returns a finding that the claim has no meaning for this subject.
func NotApply(format string, a ...any) Finding { return finding(NotApplicable, format, a) }

// Fail returns a finding that the claim did not hold, and what came instead.
func Fail(format string, a ...any) Finding { return finding(Failed, format, a) }

func finding(s Status, format string, a []any) Finding {
	return Finding{status: s, summary: Printable(fmt.Sprintf(format, a...), maxSummaryRunes)}
}

// Status returns the finding's outcome; 0 for the zero Finding.
func (f Finding) Status() Status { return f.status }

// Summary returns the finding in one line.
func (f Finding) Summary() string { return f.summary }

// Evidence returns a copy of what was seen, one quoted excerpt or fact a line.
func (f Finding) Evidence() []string { return clone(f.evidence) }

// With returns the finding with one more line of evidence; lines past the
// twelfth are dropped.
func (f Finding) With(format string, a ...any) Finding {
	f.evidence = appendBounded(f.evidence, Printable(fmt.Sprintf(format, a...), maxEvidenceRunes), maxEvidence)
	return f
}

// Under returns the finding with the condition that it takes for the server to be wrong.
func (f Finding) Under(c Condition) Finding { f.when = c; return f }

// Condition returns what it takes for the server to be wrong, 0 where it was not told apart.
func (f Finding) Condition() Condition { return f.when }

// Drawn returns the finding with a picture of its answers.
func (f Finding) Drawn(g Grid) Finding { f.grid = g; return f }

// Because returns the finding with likely causes in place of the check's own.
func (f Finding) Because(causes ...string) Finding {
	f.causes = nil
	for _, c := range causes {
		f.causes = appendBounded(f.causes, Printable(c, maxSummaryRunes), maxCauses)
	}
	return f
}

// Then returns the finding with commands to run next in place of the check's own.
func (f Finding) Then(next ...string) Finding {
	f.next = nil
	for _, n := range next {
		f.next = appendBounded(f.next, Printable(n, maxSummaryRunes), maxCauses)
	}
	return f
}

func appendBounded(list []string, line string, limit int) []string {
	out := clone(list)
	if len(out) < limit {
		return append(out, line)
	}
	return out
}

func clone(s []string) []string { return append([]string(nil), s...) }

// findingWire is the written form that a verdict shares with its finding.
type findingWire struct {
	Status   Status   `json:"status"`
	Summary  string   `json:"summary"`
	Evidence []string `json:"evidence,omitempty"`
	Causes   []string `json:"causes,omitempty"`
	Next     []string `json:"next,omitempty"`
	// Condition is "" where it was not told apart.
	Condition Condition `json:"condition,omitzero"`
	Grid      *gridWire `json:"grid,omitempty"`
}

func (f Finding) wire() findingWire {
	return findingWire{f.status, f.summary, f.evidence, f.causes, f.next, f.when, f.grid.wire()}
}

// finding makes the Finding of a written form again; a record is untrusted, so
// every text is made printable and bounded once more; our own come back as they
// were written.
func (w findingWire) finding() Finding {
	f := Finding{status: w.Status, summary: reprint(w.Summary, maxSummaryRunes), when: w.Condition, grid: w.Grid.grid()}
	for _, e := range w.Evidence {
		f.evidence = appendBounded(f.evidence, reprint(e, maxEvidenceRunes), maxEvidence)
	}
	for _, c := range w.Causes {
		f.causes = appendBounded(f.causes, reprint(c, maxSummaryRunes), maxCauses)
	}
	for _, n := range w.Next {
		f.next = appendBounded(f.next, reprint(n, maxSummaryRunes), maxCauses)
	}
	return f
}

// MarshalJSON refuses the zero Finding.
func (f Finding) MarshalJSON() ([]byte, error) { return json.Marshal(f.wire()) }
