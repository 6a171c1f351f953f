package correctness

import (
	"context"
	"errors"
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
	Faults: []string{"abort-kills", "abort-leaks"},
	Causes: []string{"the abort path of a KV connector or plugin", "slots or blocks of dropped requests are kept"},
	Next:   []string{"the server's log around the dropped requests", "the same server without its KV connector"},
	Run:    aborts,
}, sizing{3, func(room) Work { return asks(26, 80, 20) }})

// drops is how many streams are dropped at each of three moments.
const drops = 4

func aborts(ctx context.Context, ep Subject) (gates.Finding, error) {
	size := max(2, min(4, ep.InFlight()))
	before, err := letIn(ctx, ep, size)
	if err != nil {
		return gates.Finding{}, err
	}
	first := ask(ctx, ep, 300)
	if first.err != nil {
		return gates.Finding{}, first.err
	}
	var bystander trial
	inCompany(2, 2, func(i int) {
		if i == 0 {
			bystander = ask(ctx, ep, 301)
			return
		}
		long := endpoint.Chat(endpoint.NewProse(302).Sentences(4) + " List the numbers from 1 to 120.").MaxTokens(320) // long, so that it is not over before it is dropped
		for range drops {
			early, leave := context.WithCancel(ctx)
			waited := time.AfterFunc(max(time.Millisecond, first.answer.Timing.FirstToken/2), leave)
			ep.Stream(early, long)
			waited.Stop()
			leave()
			ep.Stream(ctx, long.HangUp(1))
			ep.Stream(ctx, long.HangUp(5))
		}
	})
	if ended(ctx) {
		return gates.Finding{}, context.Cause(ctx)
	}
	next := ask(ctx, ep, 303)
	switch {
	case next.unanswered():
		return gates.Fail("after %d dropped streams the next request fails", 3*drops).With("%s", next.says()), nil
	case first.right() && bystander.unanswered():
		return gates.Fail("while streams were dropped another one failed").With("%s", bystander.says()), nil
	case first.right() && !bystander.right() && !next.right():
		return gates.Fail("while and after streams were dropped, answers are wrong").With("%s", bystander.says()).With("%s", next.says()), nil
	}
	after, err := letIn(ctx, ep, size)
	for try := 0; err == nil && after < before && try < 3; try++ { // what was dropped last may take a moment, and so may a busy client
		after, err = letIn(ctx, ep, size)
	}
	switch {
	case err != nil:
		return gates.Fail("after %d dropped streams requests in company fail", 3*drops).With("%v", err), nil
	case after < before:
		return gates.Warn("after %d dropped streams %d requests run at once, before them %d did", 3*drops, after, before), nil
	case !first.right():
		return gates.Skip("this model gives back no code alone: whether another stream stayed right is not known").With("%s", first.says()), nil
	}
	return gates.Pass("%d streams were dropped; one beside them and one after them are right, %d at once as before", 3*drops, after), nil
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
// error.
func letIn(ctx context.Context, ep Subject, size int) (int, error) {
	answers := make([]endpoint.Answer, size)
	inCompany(size, size, func(i int) {
		answers[i] = ep.Stream(ctx, endpoint.Chat(ep.fresh().Sentences(2)+" List the numbers from 1 to 40.").MaxTokens(64))
	})
	most := 0
	for _, a := range answers {
		var f *endpoint.Failure
		if err := a.Err(); err != nil && !(errors.As(err, &f) && f.Kind == endpoint.Busy) {
			return 0, err
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
	return most, nil
}
