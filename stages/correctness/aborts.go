package correctness

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/aborts",
	Doc: `clients that leave in the middle take nothing with them

Dropping a stream runs code that nothing else runs: a connector that crashes, blocks that are kept until a timeout, a slot that is never given back. Streams
are dropped before their first event and after 1 and 5 of them while another one goes on; that one must be right, so must the next one alone, and as many
must be let in at once as before.`,
	Since:  "0.2.0",
	Cost:   7 * time.Second,
	Modes:  []string{"CON-08", "CON-09"},
	Faults: []string{"abort-kills", "abort-leaks", "company-500", "reject-above-1"},
	Causes: []string{"the abort path of a KV connector or plugin", "slots or blocks of dropped requests are kept"},
	Next:   []string{"the server's log around the dropped requests", "the same server without its KV connector"},
	Run:    aborts,
}, sizing{3, func(room) Work { return asks(26, 80, 20) }})

// drops is how many streams are dropped at each of three moments.
const drops = 4

func aborts(ctx context.Context, ep Subject) (gates.Finding, error) {
	size := max(2, min(4, ep.InFlight()))
	before, came, err := letIn(ctx, ep, size)
	if err != nil {
		return gates.Finding{}, err
	}
	first := ask(ctx, ep, 300)
	if first.err != nil {
		return gates.Finding{}, first.err
	}
	var bystander trial
	dropped := turnout{what: "streams that were to be dropped, and one beside them,"}
	inCompany(2, 2, func(i int) {
		if i == 0 {
			bystander = ask(ctx, ep, 301)
			return
		}
		long := endpoint.Chat(endpoint.NewProse(302).Sentences(4) + " List the numbers from 1 to 120.").MaxTokens(320) // long, so that it is not over before it is dropped
		for range drops {
			early, leave := context.WithCancel(ctx)
			waited := time.AfterFunc(max(time.Millisecond, first.answer.Timing.FirstToken/2), leave)
			a := ep.Stream(early, long)
			if waited.Stop() { // it ended before it was left
				dropped.add(a.Err())
			}
			leave()
			for _, events := range []int{1, 5} {
				a := ep.Stream(ctx, long.HangUp(events))
				dropped.add(a.Err())
			}
		}
	})
	if ended(ctx) {
		return gates.Finding{}, context.Cause(ctx)
	}
	next := ask(ctx, ep, 303)
	for pause := 50 * time.Millisecond; busy(next.err) && pause < time.Second; pause *= 2 { // what was dropped last may take a moment
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return gates.Finding{}, context.Cause(ctx)
		}
		next = ask(ctx, ep, 303)
	}
	switch {
	case next.unanswered():
		return gates.Fail("after %d dropped streams the next request fails", 3*drops).With("%s", next.says()), nil
	case bystander.unanswered() && !busy(bystander.err):
		return gates.Fail("while streams were dropped another one failed").With("%s", bystander.says()), nil
	case dropped.broken == 1 && cutOff(dropped.failed):
		f, _ := dropped.onceCut()
		return f, nil
	case dropped.broken > 0:
		return gates.Fail("%d of %d streams fail by themselves, and were to be dropped", dropped.broken, dropped.asked).With("%v", dropped.failed), nil
	case first.right() && !busy(bystander.err) && !bystander.right() && !next.right():
		return gates.Fail("while and after streams were dropped, answers are wrong").With("%s", bystander.says()).With("%s", next.says()), nil
	}
	after, _, err := letIn(ctx, ep, size)
	for try := 0; err == nil && after < before && try < 3; try++ { // what was dropped last may take a moment, and so may a busy client
		after, _, err = letIn(ctx, ep, size)
	}
	switch {
	case err != nil:
		return gates.Fail("after %d dropped streams requests in company fail", 3*drops).With("%v", err), nil
	case after < before:
		return gates.Warn("after %d dropped streams %d requests run at once, before them %d did", 3*drops, after, before), nil
	case !first.right():
		return gates.Skip("this model gives back no code alone: whether another stream stayed right is not known").With("%s", first.says()), nil
	}
	dropped.add(bystander.err)
	f := gates.Pass("%d streams were dropped; one beside them and one after them are right, %d at once as before", 3*drops, after)
	return dropped.judged(came.judged(f)), nil
}

func ask(ctx context.Context, ep Subject, seed uint64) trial {
	t := trial{want: ep.Canaries().Issue()}
	t.request = question(endpoint.NewProse(seed).Sentences(3), t.want)
	t.answer, t.err = ep.Ask(ctx, t.request)
	t.judge(ep)
	return t
}

// letIn sends requests at once and returns how many of them were answered side by side:
// the most streams that had begun and not ended at one instant. Being turned away is no
// error, and is counted.
func letIn(ctx context.Context, ep Subject, size int) (most int, came turnout, err error) {
	answers := make([]endpoint.Answer, size)
	inCompany(size, size, func(i int) {
		answers[i] = ep.Stream(ctx, endpoint.Chat(ep.fresh().Sentences(2)+" List the numbers from 1 to 40.").MaxTokens(64))
	})
	came.what = "requests"
	for _, a := range answers {
		if came.add(a.Err()); came.broken > 0 {
			return 0, came, came.failed
		}
		at, n := a.Timing.Began.Add(a.Timing.FirstToken), 0
		for _, b := range answers {
			begun, end := b.Timing.Began.Add(b.Timing.FirstToken), b.Timing.Began.Add(b.Timing.LastToken)
			if a.Failure == nil && b.Failure == nil && !begun.After(at) && !end.Before(at) {
				n++
			}
		}
		most = max(most, n)
	}
	return most, came, nil
}
