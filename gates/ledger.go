package gates

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// NotRun says that a stage was planned and did not start, and why.
type NotRun struct {
	Stage Stage  `json:"stage"`
	Why   string `json:"why"`
}

// A Ledger is everything that was asked of one subject and what came of it. It
// accounts for every required check: each has one verdict, or its stage is
// listed as not run. A verdict that was deleted from a file is therefore noticed.
// The zero Ledger is empty and does not marshal.
type Ledger struct {
	subject  Subject
	required []string
	verdicts []Verdict
	notRun   []NotRun
}

// NewLedger returns the ledger, or an error that names every check that is
// missing, double or unknown.
func NewLedger(subject Subject, required []string, verdicts []Verdict, notRun []NotRun) (Ledger, error) {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if subject.IsZero() {
		bad("verdicts about nothing: the subject is empty")
	}
	if len(required) == 0 {
		bad("no check was required: that proves nothing")
	}
	stopped := map[Stage]bool{}
	for _, n := range notRun {
		if int(n.Stage) >= len(stageNames) || stopped[n.Stage] {
			bad("stage %d is listed as not run twice, or does not exist", n.Stage)
		}
		if n.Why == "" {
			bad("stage %d is listed as not run without a reason", n.Stage)
		}
		stopped[n.Stage] = true
	}
	given := map[string]bool{}
	for _, v := range verdicts {
		switch _, err := StageOf(v.check); {
		case err != nil:
			errs = append(errs, err)
		case v.finding.status == 0:
			bad("%s has no outcome", v.check)
		case given[v.check]:
			bad("%s has two verdicts", v.check)
		case !slices.Contains(required, v.check):
			bad("%s has a verdict but was not required", v.check)
		case stopped[v.Stage()]:
			bad("%s has a verdict but its stage did not run", v.check)
		}
		given[v.check] = true
	}
	wanted := map[string]bool{}
	for _, id := range required {
		stage, err := StageOf(id)
		switch {
		case err != nil:
			errs = append(errs, err)
		case wanted[id]:
			bad("%s is required twice", id)
		case !given[id] && !stopped[stage]:
			bad("the verdict of %s is missing", id)
		}
		wanted[id] = true
	}
	if err := errors.Join(errs...); err != nil {
		return Ledger{}, err
	}
	return Ledger{subject, clone(required), slices.Clone(verdicts), cleanNotRun(notRun)}, nil
}

func cleanNotRun(in []NotRun) []NotRun {
	out := slices.Clone(in)
	for i := range out {
		out[i].Why = reprint(out[i].Why, maxSummaryRunes)
	}
	return out
}

// IsZero reports whether the ledger is empty.
func (l Ledger) IsZero() bool { return l.subject.IsZero() }

// Subject returns what the verdicts are about.
func (l Ledger) Subject() Subject { return l.subject }

// Required returns a copy of the ids of the required checks.
func (l Ledger) Required() []string { return clone(l.required) }

// Verdicts returns a copy of the verdicts in the order in which they were reached.
func (l Ledger) Verdicts() []Verdict { return slices.Clone(l.verdicts) }

// NotRun returns a copy of the list of stages that did not start.
func (l Ledger) NotRun() []NotRun { return slices.Clone(l.notRun) }

// Of returns the part of the ledger that is about the given stages. It is the
// zero Ledger when no check of them was required.
func (l Ledger) Of(stages ...Stage) Ledger {
	in := func(id string) bool { s, err := StageOf(id); return err == nil && slices.Contains(stages, s) }
	out := Ledger{subject: l.subject}
	for _, id := range l.required {
		if in(id) {
			out.required = append(out.required, id)
		}
	}
	for _, v := range l.verdicts {
		if in(v.check) {
			out.verdicts = append(out.verdicts, v)
		}
	}
	for _, n := range l.notRun {
		if slices.Contains(stages, n.Stage) {
			out.notRun = append(out.notRun, n)
		}
	}
	if len(out.required) == 0 {
		return Ledger{}
	}
	return out
}

// Outcome returns what a stage came to and in how few words why. ok is false when
// the stage was not part of the run.
func (l Ledger) Outcome(stage Stage) (status Status, why string, ok bool) {
	for _, n := range l.notRun {
		if n.Stage == stage {
			return Skipped, "not run: " + n.Why, true
		}
	}
	part := l.Of(stage)
	if part.IsZero() {
		return 0, "", false
	}
	status, why = Summarise(part.verdicts)
	return status, why, true
}

// Summarise returns what a stage's verdicts come to together: failed when one
// failed, skipped when nothing could be asked, warned when something was skipped
// or warned, not applicable when nothing applied, else passed. why is the summary
// of the verdict that decided.
func Summarise(verdicts []Verdict) (status Status, why string) {
	first := map[Status]string{}
	for _, v := range verdicts {
		if s := v.finding.status; first[s] == "" {
			first[s] = v.check + ": " + v.finding.summary
		}
	}
	has := func(s Status) bool { _, ok := first[s]; return ok }
	passed := has(Passed) || has(Warned)
	switch {
	case has(Failed):
		return Failed, first[Failed]
	case has(Warned):
		return Warned, first[Warned]
	case has(Skipped) && !passed:
		return Skipped, first[Skipped]
	case has(Skipped):
		return Warned, first[Skipped]
	case passed:
		return Passed, ""
	case has(NotApplicable):
		return NotApplicable, first[NotApplicable]
	}
	return Skipped, "nothing was asked"
}

type ledgerWire struct {
	Subject  Subject       `json:"subject"`
	Required []string      `json:"required"`
	Verdicts []verdictWire `json:"verdicts"`
	NotRun   []NotRun      `json:"not_run,omitempty"`
}

// MarshalJSON refuses the zero Ledger.
func (l Ledger) MarshalJSON() ([]byte, error) {
	if l.IsZero() {
		return nil, errors.New("an empty ledger does not marshal")
	}
	w := ledgerWire{Subject: l.subject, Required: l.required, NotRun: l.notRun, Verdicts: []verdictWire{}}
	for _, v := range l.verdicts {
		w.Verdicts = append(w.Verdicts, verdictWire{v.check, v.finding.wire(), v.took.Milliseconds()})
	}
	return json.Marshal(w)
}

// UnmarshalJSON goes through [NewLedger]; on error the ledger is left as it was.
func (l *Ledger) UnmarshalJSON(b []byte) error {
	var w ledgerWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	verdicts := make([]Verdict, 0, len(w.Verdicts))
	for _, vw := range w.Verdicts {
		v, err := vw.verdict()
		if err != nil {
			return err
		}
		verdicts = append(verdicts, v)
	}
	out, err := NewLedger(w.Subject, w.Required, verdicts, w.NotRun)
	if err != nil {
		return err
	}
	*l = out
	return nil
}
