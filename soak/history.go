package soak

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"infbench/gates"
)

// History is what happened in a soak so far: the sum of its events, and nothing else. The
// zero History is that of a soak that has not begun.
type History struct {
	begun   Begun
	started time.Time
	subject gates.Subject // as it is now
	last    time.Duration // of the last entry

	spent   time.Duration // in the sittings before this one
	sitting time.Duration // when this one began
	resumed int

	number   int // of the last round that was begun
	clean    bool
	tallies  []Tally
	load     Answers
	readings []reading
	fresh    int // the first reading of the server process that answers now
	anchor   string
	paced    int // the first reading whose times are compared with the anchor
	drifts   []Dated[Drifts]
	restarts []Dated[Restarted]
	failures []Failure
	voided   int
	ended    *Ended
}

// Dated is an event and when it happened.
type Dated[E any] struct {
	At    time.Duration
	Time  time.Time
	Event E
}

// Tally is what one check came to in all rounds that count.
type Tally struct {
	Check string
	// Counts holds how often it came to each status.
	Counts map[gates.Status]int
	// Worst is the verdict that the soak keeps: the first failure, else the first warning,
	// else the last pass, else the last of the others.
	Worst gates.Verdict
	// held is the last round in which it held, -1 where it never did.
	held int
}

// Failure is a failure and what became of it.
type Failure struct {
	Dated[Failed]
	// AtStart says that it was there from the beginning.
	AtStart bool
	// Again says what came of asking once more, nil where nobody did.
	Again *Again
	// Healed says when it held again, nil while it does not.
	Healed *Dated[Healed]
}

// reading is a point of the series.
type reading struct {
	at   time.Duration
	seen Reading
}

// Add adds an entry. An error says that it cannot follow the ones before; the history is
// then as it was.
func (h *History) Add(e Entry) error {
	_, begins := e.Event.(Begun)
	switch {
	case e.Event == nil:
		return errors.New("an entry without an event")
	case begins && h.begun.Run != "":
		return errors.New("a soak begins once")
	case !begins && h.begun.Run == "":
		return errors.New("a soak begins with its plan")
	case e.At < h.last:
		return errors.New("it happened before what stands before it")
	}
	lasted := h.Lasted()
	h.last = e.At
	switch v := e.Event.(type) {
	case Begun:
		h.begun, h.started, h.subject = v, e.Time, v.Subject
		h.sitting = e.At
	case Resumed:
		if h.subject != v.Subject {
			h.subject, h.fresh = v.Subject, len(h.readings)
		}
		h.spent, h.sitting = lasted, e.At
		h.resumed++
		h.ended = nil
	case Reading:
		h.read(e.At, v)
	case Round:
		h.round(v)
	case Failed:
		h.failed(Dated[Failed]{e.At, e.Time, v})
	case Again:
		if n := len(h.failures); n > 0 && h.failures[n-1].Event.Check == v.Check {
			h.failures[n-1].Again = &v
		}
	case Healed:
		for f := h.open(v.Check); f != nil; f = h.open(v.Check) {
			f.Healed = &Dated[Healed]{e.At, e.Time, v}
		}
	case Away:
	case Restarted:
		h.subject, h.fresh = v.Subject, len(h.readings)
		h.restarts = append(h.restarts, Dated[Restarted]{e.At, e.Time, v})
	case Drifts:
		h.drifts = append(h.drifts, Dated[Drifts]{e.At, e.Time, v})
	case Ended:
		h.load = h.load.plus(v.Load)
		h.ended = &v
	}
	return nil
}

func (h *History) read(at time.Duration, r Reading) {
	if r.Anchor != "" {
		h.anchor, h.paced = r.Anchor, len(h.readings) // times are compared with this round from here on
	}
	h.load = h.load.plus(r.Load)
	h.number = max(h.number, r.Round)
	h.readings = append(h.readings, reading{at, r})
}

func (h *History) round(r Round) {
	h.number = max(h.number, r.N)
	if r.Void != "" {
		h.voided++
		return
	}
	failed := false
	for _, v := range r.Answers.Verdicts() {
		h.tally(v, r.N)
		failed = failed || v.Status() == gates.Failed
	}
	if r.N > 0 && !r.Cut && !failed && len(h.failures) == 0 {
		h.clean = true
	}
}

// rank orders what a soak keeps of a check: a failure is never forgotten, and a check that
// held once was asked.
var rank = map[gates.Status]int{gates.NotApplicable: 1, gates.Skipped: 2, gates.Passed: 3, gates.Warned: 4, gates.Failed: 5}

func (h *History) tally(v gates.Verdict, round int) {
	i := slices.IndexFunc(h.tallies, func(t Tally) bool { return t.Check == v.Check() })
	if i < 0 {
		i = len(h.tallies)
		h.tallies = append(h.tallies, Tally{Check: v.Check(), Counts: map[gates.Status]int{}, held: -1})
	}
	t := &h.tallies[i]
	t.Counts[v.Status()]++
	if s := v.Status(); s == gates.Passed || s == gates.Warned {
		t.held = round
	}
	if a, b := rank[v.Status()], rank[t.Worst.Status()]; a > b || a == b && a < rank[gates.Warned] {
		t.Worst = v
	}
}

// maxFailures bounds the failures that are kept one by one.
const maxFailures = 1000

func (h *History) failed(d Dated[Failed]) {
	if len(h.failures) < maxFailures && !h.says(d.Event.Check, d.Event.Summary) {
		h.failures = append(h.failures, Failure{Dated: d, AtStart: !h.clean})
	}
}

// open returns the failure of a check that has not healed, nil where there is none.
func (h *History) open(check string) *Failure {
	for i := range h.failures {
		if f := &h.failures[i]; f.Event.Check == check && f.Healed == nil {
			return f
		}
	}
	return nil
}

// says reports whether a failure in these words has not healed.
func (h *History) says(check, summary string) bool {
	return slices.ContainsFunc(h.failures, func(f Failure) bool { return f.Event.Check == check && f.Event.Summary == summary && f.Healed == nil })
}

// held returns the last round in which a check held, -1 where it never did.
func (h *History) held(check string) int {
	for _, t := range h.tallies {
		if t.Check == check {
			return t.held
		}
	}
	return -1
}

// Begun returns how it began; the zero Begun where it did not.
func (h *History) Begun() Begun { return h.begun }

// Started returns the wall clock at its beginning.
func (h *History) Started() time.Time { return h.started }

// Subject returns what it is about by now.
func (h *History) Subject() gates.Subject { return h.subject }

// Plan returns what it set out to do.
func (h *History) Plan() Plan { return h.begun.Plan }

// Lasted returns how long it lasted so far, without the time between a kill and the resumption.
func (h *History) Lasted() time.Duration { return h.spent + h.last - h.sitting }

// Rounds returns the number of the last round that was begun: stage 2 is none.
func (h *History) Rounds() int { return h.number }

// Voided returns how many rounds count for nothing, since the server was replaced in them.
func (h *History) Voided() int { return h.voided }

// Resumed returns how often it was taken up again.
func (h *History) Resumed() int { return h.resumed }

// Clean reports whether it had a clean start: stage 2 and all of stage 3 without a failure.
func (h *History) Clean() bool { return h.clean }

// Tallies returns what each check came to, in the order in which they were first asked.
func (h *History) Tallies() []Tally { return slices.Clone(h.tallies) }

// Load returns what came of the load's questions.
func (h *History) Load() Answers { return h.load }

// Failures returns the failures in the order of their onset.
func (h *History) Failures() []Failure { return slices.Clone(h.failures) }

// Restarts returns the restarts that were noticed.
func (h *History) Restarts() []Dated[Restarted] { return slices.Clone(h.restarts) }

// Ended returns how it ended; false while it has not.
func (h *History) Ended() (Ended, bool) {
	if h.ended == nil {
		return Ended{}, false
	}
	return *h.ended, true
}

// Resumable returns why the soak cannot be taken up again, nil when it can.
func (h *History) Resumable() error {
	end, over := h.Ended()
	switch {
	case h.begun.Run == "":
		return errors.New("it holds no beginning of a soak")
	case over && !end.Stopped && end.Cause == "":
		return fmt.Errorf("that soak came to its end after %v", h.Lasted().Round(time.Second))
	case over && !end.Stopped:
		return fmt.Errorf("that soak ended for good after %v: %s", h.Lasted().Round(time.Second), end.Cause)
	}
	return nil
}
