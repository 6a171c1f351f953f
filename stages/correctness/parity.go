package correctness

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"infbench/gates"
	"infbench/stages/correctness/parity"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/parity",
	Doc: `beside a reference of the same weights it says the same, as nearly as its declared precision allows

A fast configuration can be a coarser one: weights, activations or a cache of fewer bits, an approximate kernel, other weights under the
same name. It stays fluent, so nothing but another server of the same weights shows it. Both answer the same prompts at temperature 0;
likeliest tokens, log probabilities and tool calls are compared, up to the first token in which they part.`,
	Since:  "0.2.0",
	Cost:   20 * time.Second,
	Modes:  []string{"OUT-13", "NUM-05", "IDN-05", "TOOL-10", "TOOL-11"},
	Faults: []string{"logprob-noise", "second-choice", "calls-less"},
	Causes: []string{
		"weights, activations or KV cache of fewer bits than declared",
		"other weights, or another revision, under the same name",
		"an approximate or broken kernel; other scales than the checkpoint's",
	},
	Next: []string{
		"infbench parity --target URL --reference URL --precision NAME",
		"the same engine without quantised KV cache, then without its fast kernels",
		"infbench stage0 --checkpoint PATH",
	},
	Run: parityWith,
}, sizing{12, func(r room) Work { _, w := parityPlan(r); return w }})

// parityPlan is the most that the room allows: prompts first, since they tell precisions
// apart, then calls. The reference is asked at the same time, and is taken to be as quick.
func parityPlan(r room) (parity.Plan, Work) {
	if !r.paired {
		return parity.Plan{}, Work{}
	}
	full, least := parity.DefaultPlan(), parity.QuickPlan()
	some := func(prompts, calls, passes int) parity.Plan {
		return parity.Plan{Prompts: prompts, AnswerTokens: full.AnswerTokens, Calls: calls, Passes: passes}
	}
	for _, p := range []parity.Plan{full, some(full.Prompts/2, full.Calls, full.Passes), some(least.Prompts, parity.LeastCalls, 1)} {
		if w := parityWork(p); r.affords(w) {
			return p, w
		}
	}
	for _, p := range []parity.Plan{some(full.Prompts, 0, 0), some(full.Prompts/2, 0, 0)} {
		if w := parityWork(p); r.affords(w) {
			return p, w
		}
	}
	return least, parityWork(least)
}

// parityWork is what a plan asks of one server: each prompt twice, and a few hundred tokens
// of tools before each call.
func parityWork(p parity.Plan) Work {
	return asks(2*p.Prompts, 40, p.AnswerTokens).plus(asks(p.Passes*p.Calls, 320, 48))
}

func parityWith(ctx context.Context, ep Subject) (gates.Finding, error) {
	if !ep.HasReference() {
		return gates.NotApply("no reference to compare with was given (--reference URL)"), nil
	}
	reference, err := ep.Reference(ctx)
	if err != nil {
		return gates.Skip("the reference could not be opened: %v", err), nil
	}
	const id = "correctness/parity"
	plan, _ := parityPlan(ep.room(id))
	plan.Until = ep.clock(id).end
	var ours, theirs parity.Recording
	var unasked error
	var both errgroup.Group
	both.Go(func() (err error) {
		once := plan
		once.Passes = min(1, plan.Passes)
		ours, err = parity.Record(ctx, ep.Endpoint, once)
		return err
	})
	both.Go(func() error {
		theirs, unasked = parity.Record(ctx, reference, plan)
		return nil
	})
	if err := both.Wait(); err != nil {
		return gates.Finding{}, err
	}
	if unasked != nil {
		return gates.Skip("the reference could not be asked: %v", endpoint.FailureOf(unasked, "the reference")), nil //nolint:nilerr // the error is the finding
	}
	c, err := parity.Compare(ours, theirs)
	if err != nil {
		return gates.Skip("%v", err), nil
	}
	return c.Judge(ep.Claim()), nil
}
