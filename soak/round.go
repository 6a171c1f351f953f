package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"infbench/gates"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
)

// round reads what the server shows at rest and asks the checks whose turn it is; all of
// them in the last one.
func (c *conductor) round(last bool) (cause string) {
	c.number, c.verdicts, c.reopened = c.h.Rounds()+1, nil, false
	ep := c.ep.Afresh()
	cause = c.read(ep)
	if cause == "" && !c.reopened {
		c.load.afresh(ep.Afresh())
		cause = c.checks(ep, c.rotation(c.number, last || c.all))
	}
	switch {
	case c.reopened && cause == "":
		c.emit(Round{N: c.number, Void: "the server was replaced in it"})
	case cause != "" || c.ended():
		c.emit(Round{N: c.number, Answers: c.ledger(), Cut: true})
	default:
		c.all = false
		c.emit(Round{N: c.number, Answers: c.ledger()})
		if !c.h.Clean() {
			return fromTheStart
		}
		c.alarm()
	}
	if c.ended() {
		return interrupted
	}
	return cause
}

// read lets the load rest and reads what there is to read: is it the same server, what does
// it show of itself, how long does one question take?
func (c *conductor) read(ep endpoint.Endpoint) (cause string) {
	again, ok := c.rest()
	if !ok {
		return interrupted
	}
	defer again()
	gauges, s := c.look()
	if s != (sight{}) {
		return c.away(s)
	}
	p, err := paceOf(c.ctx, ep)
	if err != nil {
		if c.ended() {
			return interrupted
		}
		return c.trouble(problem{what: err.Error()})
	}
	r := Reading{Round: c.number, Rest: gauges, Load: c.unread.plus(c.load.take())}
	c.unread, c.before = Answers{}, gauges
	if c.base == (pace{}) {
		c.base = p
		if c.Seal != nil {
			r.Anchor = c.Seal.Seal(c.Run, p.bytes())
		} else {
			r.Anchor = "-" // a beginning that nobody can come back to
		}
	}
	r.FirstToken, r.PerToken = RatioOf(p.first, c.base.first), RatioOf(p.perToken, c.base.perToken)
	c.emit(r)
	if f := c.h.open(OverTime); f != nil && r.Load.Asked > 0 && r.Load.Lost+r.Load.Foreign == 0 {
		c.healed(f)
		c.load.listen()
	}
	return ""
}

// rest brings the load to rest, where it is not.
func (c *conductor) rest() (again func(), ok bool) {
	l := c.load
	if l == nil || c.resting == l {
		return func() {}, true
	}
	release, ok := l.rest(c.ctx)
	if !ok {
		return func() {}, false
	}
	c.resting = l
	return func() {
		release()
		if c.resting == l {
			c.resting = nil
		}
	}, true
}

// checks asks the checks of a round one after another.
func (c *conductor) checks(ep endpoint.Endpoint, list []claim) (cause string) {
	failed := false
	defer c.Witness.Rest()
	for _, one := range list {
		c.Witness.Begin()
		v, cause := c.put(ep, one)
		if cause != "" || c.reopened {
			return cause
		}
		if c.ended() {
			c.verdicts = append(c.verdicts, v)
			return interrupted
		}
		if v.Status() == gates.Failed {
			if _, s := c.look(); s != (sight{}) {
				return c.away(s) // what failed, failed for that
			}
		}
		known := c.h.open(one.id) != nil
		if !c.note(v) {
			continue
		}
		failed = true
		c.Witness.Failed(v)
		if known || !c.h.Clean() {
			continue
		}
		if c.again(one.id, one.put); !c.Plan.KeepGoing {
			return fmt.Sprintf("%s failed", one.id)
		}
	}
	if failed && !c.h.Clean() {
		return fromTheStart
	}
	return ""
}

// put asks one check. A problem of the load ends it early, and it is asked again when that
// was looked at and the soak goes on.
func (c *conductor) put(ep endpoint.Endpoint, one claim) (v gates.Verdict, cause string) {
	for {
		if one.alone {
			again, ok := c.rest()
			v = one.put(c.ctx, ep)
			again()
			if !ok {
				return v, interrupted
			}
		} else {
			ctx, cancel := context.WithCancelCause(c.ctx)
			c.interrupt.set(func() { cancel(errOver) })
			v = one.put(ctx, ep)
			c.interrupt.set(nil)
			cancel(nil)
		}
		p, ok := c.load.problem()
		if !ok {
			return v, ""
		}
		if cause := c.trouble(p); cause != "" || c.reopened {
			return v, cause
		}
	}
}

// What the load can show. The texts are the names of the failures too.
const (
	mixed      = "an answer of the load holds the code of another question"
	unanswered = "a question of the load got no answer"
	refused    = "connections were refused for a while, and the server's process is the same"
)

// trouble looks at an answer of the load that no healthy server gives.
func (c *conductor) trouble(p problem) (cause string) {
	if !p.foreign {
		if _, s := c.look(); s != (sight{}) {
			return c.away(s)
		}
	}
	switch {
	case c.ended():
		return interrupted
	case p.foreign:
		return c.loadFailed(mixed, p.what)
	}
	return c.loadFailed(unanswered, p.what)
}

// loadFailed says that the load showed a failure.
func (c *conductor) loadFailed(summary, evidence string) (cause string) {
	if c.h.says(OverTime, summary) {
		return ""
	}
	c.emit(Failed{OverTime, c.number, summary, []string{c.Scrub(gates.Printable(evidence, 480))}, c.number - 1})
	c.load.mute(summary == mixed)
	c.again(OverTime, nil)
	switch {
	case !c.h.Clean():
		return fromTheStart
	case !c.Plan.KeepGoing:
		return summary
	}
	return ""
}

// again asks once more with the load at rest: the plainest question, and the check that
// failed. It decides nothing; it says whether the server is spoilt or it takes company.
func (c *conductor) again(id string, put func(context.Context, endpoint.Endpoint) gates.Verdict) {
	release, ok := c.rest()
	if !ok {
		return
	}
	defer release()
	out := Again{Check: id}
	for range 3 {
		want := c.ep.Canaries().Issue()
		a, err := c.ep.Afresh().Ask(c.ctx, endpoint.Chat("The secret code is "+want.String()+". What is the secret code?").MaxTokens(64))
		out.Asked++
		if echo, _ := c.ep.Canaries().Judge(a.Visible(), want); err == nil && echo == gates.Found {
			out.Right++
		}
	}
	if put != nil {
		v := put(c.ctx, c.ep.Afresh())
		out.Status, out.Summary = v.Status(), v.Summary()
	}
	if !c.ended() {
		c.emit(out)
	}
}

// alarm tells what creeps clearly, once for each.
func (c *conductor) alarm() {
	for _, t := range c.h.alarms() {
		if !slices.ContainsFunc(c.h.drifts, func(d Dated[Drifts]) bool { return d.Event.Metric == t.Metric }) {
			c.emit(Drifts{t.Metric, t.Mode, t.Why})
		}
	}
}

// sight is what of the server is not as it was; the zero sight is all well.
type sight struct {
	what string
	away bool
}

// look finds out whether it is the same server, and reads what it shows.
func (c *conductor) look() (endpoint.Gauges, sight) {
	what, err := c.ep.Changed(c.ctx)
	var gauges endpoint.Gauges
	if err == nil {
		gauges, err = c.ep.Gauges(c.ctx)
	}
	var f *endpoint.Failure
	switch {
	case errors.As(err, &f) && (f.Kind == endpoint.Unreachable || f.Kind == endpoint.BrokenOff):
		return gauges, sight{f.What, true}
	case what != "":
		return gauges, sight{what, false}
	}
	for _, n := range []struct {
		name     string
		was, now gates.Count
	}{{"generated tokens", c.before.Output, gauges.Output}, {"preempted requests", c.before.Preempted, gauges.Preempted}} {
		if was, ok := n.was.N(); ok && n.now.Or(was) < was {
			return gauges, sight{"its count of " + n.name + " has fallen", false}
		}
	}
	return gauges, sight{}
}

// away deals with a server that is away or was replaced. Where the soak goes on, it does so
// with what answers then.
func (c *conductor) away(s sight) (cause string) {
	wait := patience
	if c.Plan.AllowRestarts || c.Plan.KeepGoing {
		wait = max(patience, c.Plan.For-c.h.Lasted())
	}
	if s.away {
		c.emit(Away{c.Scrub(s.what)})
	}
	opened, err := c.Open(c.ctx, wait)
	switch {
	case c.ended():
		return interrupted
	case err != nil:
		c.lost("the server is away, and did not come back", err.Error())
		return "the server is away"
	}
	was, is := c.h.Subject().Parts().Process, opened.Subject.Parts().Process
	if s.away && was != "" && was == is && differs(c.h.Subject(), opened.Subject) == "" {
		others := c.load.forget()
		cause := c.loadFailed(refused, s.what)
		for _, p := range others {
			cause = cmp.Or(cause, c.loadFailed(mixed, p.what))
		}
		return cause
	}
	c.endLoad()
	c.ep = opened.Endpoint
	if cause := c.replaced(s.what, opened.Subject); cause != "" {
		return cause
	}
	c.reopened = true
	return c.begin()
}

// replaced says that another server answers than before, and whether that ends the soak.
func (c *conductor) replaced(what string, now gates.Subject) (cause string) {
	other := differs(c.h.Subject(), now)
	allowed := c.Plan.AllowRestarts && other == ""
	if other != "" {
		what += "; " + other
	}
	what = c.Scrub(what)
	if !allowed {
		c.lost("the server was restarted", what)
	}
	c.emit(Restarted{what, allowed, now})
	if !allowed && !c.Plan.KeepGoing {
		return "the server was restarted"
	}
	return ""
}

// lost is the failure of the claim that it is the same server throughout. It stands by
// itself, whatever becomes of the round under way.
func (c *conductor) lost(summary, evidence string) {
	check := c.sameServer()
	check.Run = func(context.Context, correctness.Subject) (gates.Finding, error) {
		return gates.Fail("%s", summary).With("%s", evidence).Under(gates.Time), nil
	}
	round := c.verdicts
	c.verdicts = nil
	c.note(ask(context.WithoutCancel(c.ctx), c, check, correctness.Subject{}))
	c.emit(Round{N: c.number, Answers: c.ledger(), Cut: true})
	c.verdicts = round
}

// interrupter ends what is being asked. It is safe for concurrent use.
type interrupter struct {
	mu sync.Mutex
	f  func()
}

func (i *interrupter) set(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.f = f
}

func (i *interrupter) call() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.f != nil {
		i.f()
	}
}
