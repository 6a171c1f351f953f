package correctness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/canaries",
	Doc: `requests in company get each its own answer, as right as alone

Batching faults show only with others in the batch: NaN above N streams, slots that only serve the first user, blocks mixed between
requests. Every request here is different and of another length, since a batch of equal prompts hides mix-ups; the answer must hold the
request's own code. One answer with another request's code is proof of mixing, and a data leak.`,
	Since:  "0.1.0",
	Cost:   8 * time.Second,
	Modes:  []string{"CON-01", "CON-02", "CON-03", "CON-04", "CON-05", "CON-10", "CON-11", "OUT-11"},
	Faults: []string{"crosstalk", "salad-above-1", "wrong-digit-above-1", "reject-above-1", "cut-above-1", "first-token-wrong"},
	Causes: []string{"a batched kernel or captured graph that is wrong on this device", "per-slot state or KV blocks mixed between requests", "admission: requests beyond capacity are dropped"},
	Next:   []string{"the same server with the largest batch set to 1", "graphs off, then asynchronous scheduling off, then another attention backend"},
	Run:    canaries,
}, sizing{5, func(room) Work { return asks(10, 100, 30) }})

// lengths are the numbers of filler sentences of the concurrent prompts: mixed, so
// that long and short ones share a batch.
var lengths = []int{1, 6, 2, 12, 3, 8, 1, 4}

func canaries(ctx context.Context, ep Subject) (gates.Finding, error) {
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
	for i, s := range sizes {
		round, err := companyRound(ctx, ep, s, uint64(200+100*i))
		if err != nil {
			return gates.Finding{}, err
		}
		company = append(company, round...)
	}
	lost, err := wrongOnlyInCompany(ctx, ep, company)
	if err != nil {
		return gates.Finding{}, err
	}
	if f := judgeCompany(alone, company, lost, size); f.Status() == gates.Failed {
		return f, nil
	} else if odd, err := otherFirstWords(ctx, ep, alone, company); err != nil || odd.Status() != 0 {
		return odd, err
	} else {
		return f, nil
	}
}

// otherFirstWords finds answers whose first word only company makes: what the prefill
// samples is wrong, and all that follows is right. No finding means none.
func otherFirstWords(ctx context.Context, ep Subject, alone, company []trial) (gates.Finding, error) {
	usual := map[string]bool{}
	for _, t := range alone {
		usual[firstWord(t.answer)] = true
	}
	var odd []trial
	asked := 0
	for _, t := range company {
		if t.err != nil || usual[firstWord(t.answer)] || asked == 8 {
			continue
		}
		asked++
		again, err := ep.Ask(ctx, t.request)
		if err != nil {
			return gates.Finding{}, err
		}
		if firstWord(again) != firstWord(t.answer) {
			odd = append(odd, t)
		}
	}
	switch {
	case len(odd) < 2: // one may be a near tie
		return gates.Finding{}, nil
	case len(odd) < lostLimit:
		return gates.Warn("the first word of %d answers is another than alone", len(odd)).With("%s", odd[0].says()), nil
	}
	return gates.Fail("the first word of %d answers in company is another than alone, and the rest is right", len(odd)).With("%s", odd[0].says()).
		Because("the first token is sampled in another way than those after it").Then("sampling on the host, where the engine has the option"), nil
}

func firstWord(a endpoint.Answer) string {
	if words := strings.Fields(a.Visible()); len(words) > 0 {
		return words[0]
	}
	return ""
}

// companyRound asks one question of each length, at most size at once. Only an
// error that says nothing about company ends it.
func companyRound(ctx context.Context, ep Subject, size int, seed uint64) ([]trial, error) {
	out := make([]trial, len(lengths))
	for i, n := range lengths {
		out[i].want = ep.Canaries().Issue()
		out[i].request = question(endpoint.NewProse(seed+uint64(i)).Sentences(n), out[i].want)
	}
	inCompany(len(out), size, func(i int) {
		if ended(ctx) {
			out[i].err = context.Cause(ctx)
			return
		}
		out[i].answer, out[i].err = ep.Ask(ctx, out[i].request)
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

// wrongOnlyInCompany asks each prompt that was answered wrongly in company once more,
// the same prompt and alone, and returns those that are then right. A model that cannot
// do it fails both; what fails in company only is the engine.
func wrongOnlyInCompany(ctx context.Context, ep Subject, company []trial) ([]trial, error) {
	var lost []trial
	for _, t := range company {
		if t.err != nil || t.right() || t.echo == gates.Foreign {
			continue
		}
		again := trial{want: t.want}
		again.answer, again.err = ep.Ask(ctx, t.request)
		if again.err != nil {
			return nil, again.err
		}
		if again.judge(ep); again.right() {
			lost = append(lost, t)
		}
	}
	return lost, nil
}

// lostLimit is the number of answers wrong in company only that fails the server. At
// temperature 0 the same prompt alone repeats a model's own mistake, so that each of
// them is already a difference that company made; one may be a near tie.
const lostLimit = 3

func judgeCompany(alone, company, lost []trial, size int) gates.Finding {
	var right, rightAlone, busy, broken, salad int
	var foreign, unanswered, garbled, wrong *trial
	for i := range alone {
		if alone[i].right() {
			rightAlone++
		}
		if alone[i].echo == gates.Foreign {
			foreign = &alone[i]
		}
	}
	for i := range company {
		t := &company[i]
		var failure *endpoint.Failure
		switch {
		case errors.As(t.err, &failure) && failure.Kind == endpoint.Busy:
			busy++
		case t.err != nil:
			broken++
			unanswered = t
		case t.echo == gates.Foreign:
			foreign = t
		case t.right():
			right++
		default:
			wrong = t
		}
		if t.err == nil && hardSymptom(t.answer, "") != "" {
			salad++
			garbled = t
		}
	}
	count := fmt.Sprintf("%d of %d right alone, %d of %d with up to %d at once", rightAlone, len(alone), right, len(company), size)
	switch {
	case foreign != nil:
		return gates.Fail("an answer holds the code %s of another request", foreign.seen).With("%s", foreign.says()).With("%s", count).
			Because("requests are mixed: per-slot state, KV blocks or response routing").Then("stop serving from this server: one user can read another's text")
	case unanswered != nil:
		return gates.Fail("%d of %d requests in company never got an answer", broken, len(company)).With("%s", unanswered.says()).With("%s", count)
	case salad >= 2:
		return gates.Fail("%d of %d answers in company are degenerate", salad, len(company)).With("%s", hardSymptom(garbled.answer, "")).With("%s", garbled.says()).With("%s", count)
	case len(lost) >= lostLimit:
		return gates.Fail("%d of %d answers are wrong in company, and the same prompts are right alone", len(lost), len(company)).With("%s", count).With("%s", lost[0].says())
	case salad == 1:
		return gates.Warn("one answer in company is degenerate").With("%s", hardSymptom(garbled.answer, "")).With("%s", garbled.says()).With("%s", count)
	case len(lost) > 1:
		return gates.Warn("%d of %d answers are wrong in company, and the same prompts are right alone", len(lost), len(company)).With("%s", count).With("%s", lost[0].says())
	case busy > 0:
		return gates.Warn("%d of %d requests were turned away with up to %d at once", busy, len(company), size).With("%s", count).
			Because("the server's limit on waiting requests is lower than the load")
	case rightAlone*2 < len(alone):
		return gates.Skip("this model gives back %d of %d codes alone: too few to judge it in company", rightAlone, len(alone)).With("no foreign code in %d answers", len(company))
	}
	f := gates.Pass("%s, none foreign", count)
	if wrong != nil {
		f = f.With("%s", wrong.says())
	}
	return f
}
