package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
	"infbench/stages/smoke"
)

// Options say how a soak is run.
type Options struct {
	// Plan is what it sets out to do; that of the journal where it goes on.
	Plan Plan
	// Run and Harness name it in the journal.
	Run, Harness string
	// Open opens the target anew, and waits so long for one that is away.
	Open func(ctx context.Context, wait time.Duration) (Opened, error)
	// Past is what happened before a kill; nil for a soak that begins.
	Past *History
	// Emit is told of each event as it happens, one at a time.
	Emit func(Entry)
	// Seal keeps the times of the first round; nil: nobody can go on with them.
	Seal Sealer
	// Witness, if not nil, is told of the checks.
	Witness Witness
	// Scrub takes secrets and host names out of every text; nil leaves them as they are.
	Scrub func(string) string

	suite suite
}

// Witness keeps what a check asked and what came, should it fail.
type Witness interface {
	// Begin says that a check is going to be asked; what one before it asked is forgotten.
	Begin()
	// Failed says that it failed.
	Failed(v gates.Verdict)
	// Rest says that no check is being asked.
	Rest()
}

type nobody struct{}

func (nobody) Begin()               {}
func (nobody) Failed(gates.Verdict) {}
func (nobody) Rest()                {}

// Opened is a target that was opened. Where that failed, Subject says what was tried.
type Opened struct {
	Endpoint endpoint.Endpoint
	Subject  gates.Subject
}

// suite is what is asked; tests have their own.
type suite struct {
	smoke  []gates.Check[endpoint.Endpoint]
	checks []gates.Check[correctness.Subject]
}

// A MismatchError says that a journal is about something else than what was opened.
type MismatchError struct{ What string }

// Error says what differs.
func (e *MismatchError) Error() string { return "the journal is about another soak: " + e.What }

// patience is how long a soak that ends with a server which is away waits to see whether it
// comes back.
const patience = time.Minute

// errOver ends what is being asked when the answers cannot matter any more.
var errOver = fmt.Errorf("the server was replaced or the soak has failed: %w", gates.ErrStopped)

// Run runs a soak to its end, to its first failure, or until ctx ends, and returns what
// happened. An error says that it could not even go on: nothing was asked and nothing emitted.
func Run(ctx context.Context, o Options) (*History, error) {
	if o.Scrub == nil {
		o.Scrub = func(s string) string { return s }
	}
	if o.Witness == nil {
		o.Witness = nobody{}
	}
	if o.suite.checks == nil {
		o.suite = suite{smoke.Checks(), correctness.Checks()}
	}
	c := &conductor{Options: o, ctx: ctx, h: o.Past, origin: time.Now()}
	if c.h == nil {
		if err := o.Plan.Validate(); err != nil {
			return nil, err
		}
	} else if err := c.h.Resumable(); err != nil {
		return nil, err
	}
	opened, err := o.Open(ctx, 0)
	if c.h == nil {
		c.h = &History{}
		c.emit(Begun{o.Run, o.Harness, o.Plan, opened.Subject})
	} else if err := c.takeUp(opened, err); err != nil {
		return nil, err
	}
	c.sitting, c.ep = time.Now(), opened.Endpoint
	cause := c.run(opened, err)
	c.endLoad()
	stopped := errors.Is(context.Cause(ctx), gates.ErrStopped)
	if stopped {
		cause = "interrupted"
	}
	c.emit(Ended{Cause: cause, Stopped: stopped, Load: c.unread})
	return c.h, nil
}

// conductor runs one sitting of a soak. All but the load happens on its goroutine.
type conductor struct {
	Options
	ctx     context.Context
	h       *History
	origin  time.Time // when the soak began, on this process's clock
	sitting time.Time // when this sitting did
	gap     string    // how the server was found to be replaced when the soak was taken up

	ep        endpoint.Endpoint
	subject   correctness.Subject
	load      *load
	resting   *load   // the load that is at rest
	unread    Answers // of a load that has ended
	interrupt interrupter

	base     pace            // of the first round
	before   endpoint.Gauges // of the reading before
	all      bool            // the next round asks every check
	reopened bool            // the server was replaced, and the round under way counts for nothing
	number   int             // of the round under way
	verdicts []gates.Verdict // of the same
}

func (c *conductor) emit(e Event) {
	now := time.Now()
	entry := Entry{now.UTC(), max(now.Sub(c.origin), c.h.last), e}
	if err := c.h.Add(entry); err != nil {
		panic("soak: " + err.Error()) // a defect: what happens follows what happened
	}
	if c.Emit != nil {
		c.Emit(entry)
	}
}

// takeUp goes on where a journal ends.
func (c *conductor) takeUp(opened Opened, err error) error {
	if err != nil {
		return err
	}
	if d := differs(c.h.Subject(), opened.Subject); d != "" {
		return &MismatchError{d}
	}
	c.gap = c.h.Subject().Difference(opened.Subject)
	c.Plan, c.Run = c.h.Plan(), c.h.Begun().Run
	// The server went on growing old meanwhile: time goes by the wall clock.
	c.origin = time.Now().Add(-max(c.h.last, time.Since(c.h.Started())))
	if c.Seal != nil {
		if b, ok := c.Seal.Unseal(c.Run, c.h.anchor); ok {
			c.base, _ = paceIn(b)
		}
	}
	c.emit(Resumed{c.Harness, opened.Subject})
	return nil
}

// differs names what differs between two subjects beside the server process.
func differs(a, b gates.Subject) string {
	x, y := a.Parts(), b.Parts()
	x.Process, y.Process = "", ""
	p, errP := gates.NewSubject(x)
	q, errQ := gates.NewSubject(y)
	if errP != nil || errQ != nil {
		return "one of them is about nothing"
	}
	return p.Difference(q)
}

const (
	interrupted  = "interrupted"
	fromTheStart = "it failed from the beginning, not over time"
)

// run returns why the soak ended before its time, "" when it did not.
func (c *conductor) run(opened Opened, err error) (cause string) {
	switch {
	case !c.h.Clean():
		c.base = pace{} // what was measured before a clean start is no beginning
		if cause := c.opening(err); cause != "" {
			return cause
		}
	case c.gap != "":
		if cause := c.replaced("while nobody looked: "+c.gap, opened.Subject); cause != "" {
			return cause
		}
	}
	if cause := c.begin(); cause != "" {
		return cause
	}
	return c.rounds()
}

func (c *conductor) ended() bool { return c.ctx.Err() != nil }

// opening asks stage 2, alone; err is why the target could not be opened.
func (c *conductor) opening(err error) (cause string) {
	c.verdicts = nil
	for _, check := range c.suite.smoke {
		if err != nil {
			check = unasked(check, err)
		}
		if v := ask(c.ctx, c, check, c.ep); c.note(v) {
			cause = fromTheStart
		}
	}
	c.emit(Round{N: 0, Answers: c.ledger(), Cut: c.ended()})
	if c.ended() {
		return interrupted
	}
	return cause
}

// unasked returns a check that says why it could not be asked.
func unasked[S any](check gates.Check[S], err error) gates.Check[S] {
	check.Run = func(context.Context, S) (gates.Finding, error) { return gates.Finding{}, err }
	check.Needs = nil
	return check
}

// begin sizes the checks and lets the load go.
func (c *conductor) begin() (cause string) {
	subject, err := correctness.Open(c.ctx, c.ep.Afresh(), correctness.Options{Budget: max(correctness.QuickBudget, min(correctness.DefaultBudget, c.Plan.Every))})
	if err == nil {
		c.subject = subject
		var model arrival.ArrivalModel
		if model, err = c.Plan.load(c.ep.Build().Slots.Or(0)); err == nil {
			c.load = newLoad(c.ep.Afresh(), model, c.interrupt.call)
			c.load.start(c.ctx)
			c.before, c.all = endpoint.Gauges{}, true
			return ""
		}
	}
	if c.ended() {
		return interrupted
	}
	c.lost("the server does not answer", err.Error())
	return "the server does not answer"
}

// endLoad ends the load and keeps what came of it.
func (c *conductor) endLoad() {
	if c.load != nil {
		c.load.end()
		c.unread = c.unread.plus(c.load.take())
		c.load = nil
	}
}

// rounds asks until the time is over. A round begins at its tick; one that is late begins
// at once, and ticks that went by meanwhile are not made up. The last one begins when the
// time is over, and asks all; it is never the first one, which has nothing to hold it against.
func (c *conductor) rounds() (cause string) {
	left := max(0, c.Plan.For-c.h.spent)
	for tick := time.Duration(0); ; {
		due := min(tick, left)
		if cause := c.wait(c.sitting.Add(due)); cause != "" {
			return cause
		}
		began := time.Since(c.sitting)
		last := began >= left && c.h.Rounds() > 0
		if cause := c.round(last); cause != "" || last {
			return cause
		}
		tick = (began/c.Plan.Every + 1) * c.Plan.Every
	}
}

// wait waits for an instant, and looks at what comes of the load meanwhile.
func (c *conductor) wait(until time.Time) (cause string) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	for cause == "" {
		select {
		case <-c.ctx.Done():
			return interrupted
		case p := <-c.load.problems:
			cause = c.trouble(p)
		case <-t.C:
			return ""
		}
	}
	return cause
}

// note takes a verdict into the round and says so at once where something held before and
// does not now; it reports whether the verdict is a failure.
func (c *conductor) note(v gates.Verdict) (failed bool) {
	c.verdicts = append(c.verdicts, v)
	open := c.h.open(v.Check())
	switch v.Status() {
	case gates.Failed:
		if open == nil {
			c.emit(Failed{v.Check(), c.number, v.Summary(), v.Evidence(), c.h.held(v.Check())})
		}
		return true
	case gates.Passed, gates.Warned:
		if open != nil {
			c.healed(open)
		}
	case gates.NotApplicable, gates.Skipped:
	}
	return false
}

func (c *conductor) healed(f *Failure) {
	restart := slices.ContainsFunc(c.h.restarts, func(r Dated[Restarted]) bool { return r.At > f.At })
	c.emit(Healed{f.Event.Check, c.number, restart})
}

// ledger makes the ledger of the round under way; a check that was asked twice counts once,
// as the second time said.
func (c *conductor) ledger() gates.Ledger {
	last := map[string]gates.Verdict{}
	var ids []string
	for _, v := range c.verdicts {
		if _, twice := last[v.Check()]; !twice {
			ids = append(ids, v.Check())
		}
		last[v.Check()] = v
	}
	var verdicts []gates.Verdict
	for _, id := range ids {
		verdicts = append(verdicts, last[id])
	}
	l, err := gates.NewLedger(c.h.Subject(), ids, verdicts, nil)
	if err != nil {
		return gates.Ledger{} // nothing was asked
	}
	return l
}

func (c *conductor) sameServer() gates.Check[correctness.Subject] {
	for _, check := range c.suite.checks {
		if check.ID == sameServer {
			return check
		}
	}
	panic("soak: there is no check " + sameServer)
}

// limit bounds one check, as in any other run.
func limit(cost time.Duration) time.Duration { return max(10*time.Minute, 20*cost) }

// ask puts one check.
func ask[S any](ctx context.Context, c *conductor, check gates.Check[S], subject S) gates.Verdict {
	ctx, cancel := context.WithTimeout(ctx, limit(check.Cost))
	defer cancel()
	return gates.Run(ctx, check, subject).Redacted(c.Scrub)
}
