package gates

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A GateSet is proof about one subject: every required check of the stages before
// performance is accounted for, none failed, and the smoke and the correctness
// stage each really passed something. The zero GateSet proves nothing: it is not
// satisfied and does not marshal.
type GateSet struct {
	ledger Ledger
}

// UnsatisfiedError says why a set of verdicts is no proof, all reasons at once.
type UnsatisfiedError struct {
	Reasons []string
}

// Error lists the reasons.
func (e *UnsatisfiedError) Error() string {
	return "the gates are not satisfied: " + strings.Join(e.Reasons, "; ")
}

// Prove returns the proof, or an [*UnsatisfiedError]. Verdicts of the performance
// stage are no gates and are refused.
func Prove(subject Subject, required []string, verdicts []Verdict) (GateSet, error) {
	l, err := NewLedger(subject, required, verdicts, nil)
	if err != nil {
		return GateSet{}, &UnsatisfiedError{Reasons: strings.Split(err.Error(), "\n")}
	}
	return l.prove()
}

// Gates proves the part of the ledger that comes before performance.
func (l Ledger) Gates() (GateSet, error) {
	return l.Of(Static, Hardware, Smoke, Correctness).prove()
}

// prove applies the policy: stages 2 and 3 must have passed; stages 0 and 1 must
// not have failed. Where 0 or 1 was skipped the set stands, with a caveat.
func (l Ledger) prove() (GateSet, error) {
	var reasons []string
	if l.IsZero() {
		reasons = append(reasons, "there are no verdicts")
	}
	for _, n := range l.notRun {
		reasons = append(reasons, fmt.Sprintf("stage %d (%s) did not run: %s", n.Stage, n.Stage, n.Why))
	}
	for _, v := range l.verdicts {
		if v.finding.status == Failed {
			reasons = append(reasons, v.check+" failed: "+v.finding.summary)
		}
		if v.Stage() == Performance {
			reasons = append(reasons, v.check+" is no gate: it belongs to the numbers")
		}
	}
	for _, must := range []Stage{Smoke, Correctness} {
		part := l.Of(must)
		if !slices.ContainsFunc(part.verdicts, func(v Verdict) bool {
			return v.finding.status == Passed || v.finding.status == Warned
		}) {
			reasons = append(reasons, fmt.Sprintf("no check of stage %d (%s) passed", must, must))
		}
	}
	if reasons != nil {
		return GateSet{}, &UnsatisfiedError{Reasons: reasons}
	}
	return GateSet{ledger: l}, nil
}

// Satisfied reports whether the set proves anything; false for the zero GateSet.
func (g GateSet) Satisfied() bool { return !g.ledger.IsZero() }

// Subject returns what the proof is about.
func (g GateSet) Subject() Subject { return g.ledger.subject }

// Ledger returns the verdicts that the proof rests on.
func (g GateSet) Ledger() Ledger { return g.ledger }

// Caveats lists, in words, what was skipped or warned: the proof stands without
// it, and every number made from the proof carries it. A stage of which nothing
// could be asked is one caveat.
func (g GateSet) Caveats() []string {
	var out []string
	for _, s := range Stages() {
		part := g.ledger.Of(s)
		if part.IsZero() {
			continue
		}
		if status, why := Summarise(part.verdicts); status == Skipped {
			_, why, _ = strings.Cut(why, ": ")
			out = append(out, fmt.Sprintf("stage %d (%s) was skipped: %s", s, s, why))
			continue
		}
		for _, v := range part.verdicts {
			if st := v.finding.status; st == Skipped || st == Warned {
				out = append(out, fmt.Sprintf("%s %s: %s", v.check, st, v.finding.summary))
			}
		}
	}
	return out
}

// String says what the set proves in one line.
func (g GateSet) String() string {
	if !g.Satisfied() {
		return "no proof"
	}
	return fmt.Sprintf("%d verdicts about %s, none failed", len(g.ledger.verdicts), g.ledger.subject)
}

// MarshalJSON refuses a GateSet that proves nothing.
func (g GateSet) MarshalJSON() ([]byte, error) {
	if !g.Satisfied() {
		return nil, errors.New("a gate set that proves nothing does not marshal")
	}
	return json.Marshal(g.ledger)
}

// UnmarshalJSON proves the set again from its verdicts; a file cannot assert it.
// On error the set proves nothing, whatever it proved before.
func (g *GateSet) UnmarshalJSON(b []byte) error {
	*g = GateSet{}
	var l Ledger
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	out, err := l.prove()
	if err != nil {
		return err
	}
	*g = out
	return nil
}
