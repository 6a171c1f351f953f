package correctness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "correctness/canaries",
	Doc: `requests in company get each its own answer, as right as alone

Batching faults show only with others in the batch: NaN above N streams, slots that only serve the first user, blocks mixed between
requests. Every request here is different and of another length, since a batch of equal prompts hides mix-ups; the answer must hold the
request's own code. One answer with another request's code is proof of mixing, and a data leak.`,
	Since:  "0.1.0",
	Cost:   8 * time.Second,
	Modes:  []string{"CON-01", "CON-02", "CON-03", "CON-04", "CON-05", "CON-10", "CON-11"},
	Faults: []string{"crosstalk", "salad-above-1", "wrong-digit-above-1", "reject-above-1", "cut-above-1"},
	Causes: []string{"a batched kernel or captured graph that is wrong on this device", "per-slot state or KV blocks mixed between requests", "admission: requests beyond capacity are dropped"},
	Next:   []string{"the same server with the largest batch set to 1", "graphs off, then asynchronous scheduling off, then another attention backend"},
	Run:    canaries,
})

// lengths are the numbers of filler sentences of the concurrent prompts: mixed, so
// that long and short ones share a batch.
var lengths = []int{1, 6, 2, 12, 3, 8, 1, 4}

func canaries(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	alone, err := companyRound(ctx, ep, 1, 100)
	if err != nil {
		return gates.Finding{}, err
	}
	size := max(2, min(8, ep.InFlight()))
	sizes := []int{2}
	if size > 2 {
		sizes = append(sizes, size)
	}
	sizes = append(sizes, size)
	var company []trial
	seen := map[int]bool{}
	for i, s := range sizes {
		round, err := companyRound(ctx, ep, s, uint64(200+100*i))
		if err != nil {
			return gates.Finding{}, err
		}
		company = append(company, round...)
		seen[s] = true
	}
	return judgeCompany(alone, company, size), nil
}

// companyRound asks one question of each length, at most size at once. Only an
// error that says nothing about company ends it.
func companyRound(ctx context.Context, ep endpoint.Endpoint, size int, seed uint64) ([]trial, error) {
	out := make([]trial, len(lengths))
	requests := make([]endpoint.Request, len(lengths))
	for i, n := range lengths {
		out[i].want = ep.Canaries().Issue()
		requests[i] = question(endpoint.NewProse(seed+uint64(i)).Sentences(n), out[i].want)
	}
	inCompany(len(out), size, func(i int) {
		if ended(ctx) {
			out[i].err = context.Cause(ctx)
			return
		}
		out[i].answer, out[i].err = ep.Ask(ctx, requests[i])
		out[i].judge(ep)
	})
	if ended(ctx) {
		return nil, context.Cause(ctx)
	}
	if size == 1 {
		for _, t := range out {
			if t.err != nil {
				return nil, t.err
			}
		}
	}
	return out, nil
}

func judgeCompany(alone, company []trial, size int) gates.Finding {
	var lost, won, right, rightAlone, busy, broken, salad int
	var f gates.Finding
	first := func(list []trial, bad func(trial) bool) (trial, bool) {
		for _, t := range list {
			if bad(t) {
				return t, true
			}
		}
		return trial{}, false
	}
	for _, t := range alone {
		if t.right() {
			rightAlone++
		}
	}
	for i, t := range company {
		before := alone[i%len(alone)]
		var failure *endpoint.Failure
		switch {
		case errors.As(t.err, &failure) && failure.Kind == endpoint.Busy:
			busy++
			continue
		case t.err != nil:
			broken++
			continue
		case hardSymptom(t.answer, "") != "":
			salad++
		}
		switch {
		case t.right():
			right++
			if !before.right() {
				won++
			}
		case before.right():
			lost++
		}
	}
	count := fmt.Sprintf("%d of %d right alone, %d of %d with up to %d at once", rightAlone, len(alone), right, len(company), size)
	foreign := func(t trial) bool { return t.err == nil && t.echo == gates.Foreign }
	if t, ok := first(append(alone, company...), foreign); ok {
		return gates.Fail("an answer holds the code %s of another request", t.seen).With("%s", t.says()).With("%s", count).
			Because("requests are mixed: per-slot state, KV blocks or response routing").Then("stop serving from this server: one user can read another's text")
	}
	if t, ok := first(company, func(t trial) bool {
		var failure *endpoint.Failure
		return t.err != nil && !(errors.As(t.err, &failure) && failure.Kind == endpoint.Busy)
	}); ok {
		return gates.Fail("%d of %d requests in company never got an answer", broken, len(company)).With("%s", t.says()).With("%s", count)
	}
	if t, ok := first(company, func(t trial) bool { return t.err == nil && hardSymptom(t.answer, "") != "" }); ok && salad >= 2 {
		return gates.Fail("%d of %d answers in company are degenerate", salad, len(company)).With("%s", hardSymptom(t.answer, "")).With("%s", t.says()).With("%s", count)
	} else if ok {
		f = gates.Warn("one answer in company is degenerate").With("%s", hardSymptom(t.answer, "")).With("%s", t.says()).With("%s", count)
		return f
	}
	wrong, some := first(company, func(t trial) bool { return t.err == nil && !t.right() })
	switch p := mcnemar(lost, won); {
	case rightAlone*5 < len(alone)*4:
		return gates.Skip("this model gives back %d of %d codes alone: too few to judge it in company", rightAlone, len(alone)).With("no foreign code in %d answers", len(company))
	case lost > 0 && p < 0.01:
		return gates.Fail("right alone and wrong in company: %d of %d", lost, len(company)).With("%s", count).With("exact one-sided McNemar p = %.4f", p).With("%s", wrong.says())
	case lost > 1:
		return gates.Warn("%d of %d answers are right alone and wrong in company: more than chance would give, fewer than prove it", lost, len(company)).
			With("%s", count).With("exact one-sided McNemar p = %.3f", p).With("%s", wrong.says())
	case busy > 0:
		return gates.Warn("%d of %d requests were turned away with up to %d at once", busy, len(company), size).With("%s", count).
			Because("the server's limit on waiting requests is lower than the load")
	case some:
		return gates.Pass("%s, none foreign", count).With("%s", wrong.says())
	}
	return gates.Pass("%s, none foreign", count)
}
