package correctness

import (
	"context"
	"errors"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// A turnout is how many requests of some company were answered at all, whatever their answers
// hold. What got no answer is examined by nobody: a check that judges answers must ask it
// before it says that all is well.
type turnout struct {
	what                string // is asked, in the plural
	asked, away, broken int
	failed, refused     error // an example of each
}

// add counts one request that ended with err, which may be nil. Such requests were answered
// alone: one that is declined in company is broken.
func (t *turnout) add(err error) {
	t.asked++
	switch endpoint.FateOf(err) {
	case endpoint.Answered:
	case endpoint.TurnedAway:
		t.away, t.refused = t.away+1, err
	case endpoint.Declined, endpoint.Broken:
		t.broken, t.failed = t.broken+1, err
	}
}

func turnoutOf(what string, company []member) turnout {
	t := turnout{what: what}
	for _, m := range company {
		t.add(m.err)
	}
	return t
}

// failing is the finding where some of them failed; bad is false where none did. The server
// may be dead of it, and company is what killed it all the same.
func (s Subject) failing(ctx context.Context, t turnout) (f gates.Finding, bad bool) {
	if t.broken == 0 {
		return gates.Finding{}, false
	}
	if f, one := t.onceCut(); one && !s.floor(ctx).unanswered() {
		return f.Under(gates.Company), true
	}
	f = gates.Fail("%d of %d %s at once fail, and alone they do not", t.broken, t.asked, t.what).With("%v", t.failed)
	if t.away > 0 {
		f = f.With("%d more were turned away", t.away)
	}
	if after := s.floor(ctx); after.unanswered() {
		f = f.With("a plain question afterwards fails too: %v", after.err)
	}
	return f.Under(gates.Company), true
}

// onceCut is the finding where one connection of several broke, and nothing else: that can
// happen on a sound server. What the server itself says with a status is no accident.
func (t turnout) onceCut() (f gates.Finding, one bool) {
	if t.broken != 1 || t.asked < 4 || !cutOff(t.failed) {
		return gates.Finding{}, false
	}
	return gates.Warn("one of %d %s got no answer, since its connection broke", t.asked, t.what).With("%v", t.failed), true
}

// cutOff reports whether a connection broke.
func cutOff(err error) bool {
	var f *endpoint.Failure
	return errors.As(err, &f) && f.Kind == endpoint.BrokenOff
}

// judged is what a check may say of those that were answered: f, where they are most of
// them, and else that too few were.
func (t turnout) judged(f gates.Finding) gates.Finding {
	switch said := "%d of %d %s were turned away: %v"; {
	case t.away == 0:
		return f
	case 2*t.away < t.asked:
		return f.With(said, t.away, t.asked, t.what, t.refused)
	}
	return gates.Warn("%d of %d %s at once were turned away: the others are too few to judge company by", t.away, t.asked, t.what).With("%v", t.refused).
		Because("the server's limit on waiting requests is lower than the load").Then("the server's limit on requests in flight").Under(gates.Company)
}
