package correctness

import (
	"context"
	"math"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/scores",
	Doc: `logprobs in company are those of the same text alone

Drafts beside chunked prefill, and offsets that count another request's tokens, give scores that belong to another place or another request: the text is right, and every
evaluation that ranks by likelihood is wrong. The same questions are scored alone twice and in company; as far as the texts are equal their scores must be near.`,
	Since:  "0.3.0",
	Cost:   4 * time.Second,
	Modes:  []string{"LGP-05", "LGP-06", "DET-02", "CON-05"},
	Faults: []string{"scores-off", "logprobs-500", "logprobs-500-in-company", "company-500", "reject-above-1"},
	Causes: []string{"scores are taken from another place of the batch", "speculative decoding beside chunked prefill"},
	Next:   []string{"the same server without speculative decoding", "score with one request at a time"},
	Run:    scores,
}, sizing{3, func(room) Work { return asks(3*scored, 60, scoredTokens) }})

const (
	scored, scoredTokens = 8, 24
	// scoreNats is how far the mean score of a text may be from that of the same text alone:
	// batched kernels move it by some thousandths.
	scoreNats = 0.05
)

func scores(ctx context.Context, ep Subject) (gates.Finding, error) {
	if why := ep.Unable(endpoint.Logprobs); why != "" {
		return gates.NotApply("%s", why), nil
	}
	requests := make([]endpoint.Request, scored)
	alone := make([]endpoint.Answer, scored)
	spread, bad := 0.0, 0
	for i := range requests {
		requests[i] = openQuestion(ep.fresh().Sentences(1+i%3), i).MaxTokens(scoredTokens).Logprobs(1)
		for k := range 2 {
			a := ep.Complete(ctx, requests[i])
			switch err := a.Err(); endpoint.FateOf(err) {
			case endpoint.Answered:
			case endpoint.Declined:
				return gates.NotApply("the server refuses logprobs: %s", endpoint.Reason(err)), nil
			case endpoint.TurnedAway, endpoint.Broken:
				return gates.Finding{}, err
			}
			if len(a.Logprobs) == 0 {
				return gates.NotApply("asked for, no logprobs come"), nil
			}
			if k == 1 {
				d, _ := scoreDistance(alone[i].Logprobs, a.Logprobs)
				spread = max(spread, d)
			}
			alone[i] = a
		}
	}
	company := make([]endpoint.Answer, scored)
	inCompany(scored, max(2, min(4, ep.InFlight())), func(i int) { company[i] = ep.Complete(ctx, requests[i]) })
	if ended(ctx) {
		return gates.Finding{}, context.Cause(ctx)
	}
	worst, tokens, bare := 0.0, 0, 0
	came := turnout{what: "scored requests"}
	for i, a := range company {
		if came.add(a.Err()); a.Failure != nil {
			continue // counted
		}
		if len(a.Logprobs) == 0 {
			bare++
		}
		d, n := scoreDistance(alone[i].Logprobs, a.Logprobs)
		tokens += n
		worst = max(worst, d)
		if n >= 4 && d > scoreNats+spread {
			bad++
		}
	}
	failing, broken := ep.failing(ctx, came)
	switch {
	case broken:
		return failing, nil
	case bare >= 2:
		return ep.blame(ctx, gates.Fail("%d of %d texts in company come without the scores that were asked for, and alone with them", bare, scored), gates.Company), nil
	case tokens == 0 && came.away == 0:
		return gates.Skip("no text in company begins as alone: its scores cannot be compared"), nil
	case bad >= 2:
		f := gates.Fail("the scores of %d of %d texts in company are up to %.2f nats a token from those of the same text alone", bad, scored, worst)
		return ep.blame(ctx, f.With("alone twice they differ by %.3f at most; texts were compared as far as they are equal, %d tokens in all", spread, tokens), gates.Company), nil
	case spread > scoreNats:
		return gates.Warn("the scores of one text alone differ by up to %.2f nats a token when it is asked twice", spread).Under(gates.Alone), nil
	}
	return came.judged(gates.Pass("%d tokens scored in company and alone, %.3f nats a token apart at most", tokens, worst)), nil
}

// scoreDistance is the mean distance of the scores of two texts as far as they are equal, in
// nats a token, and how many tokens that is.
func scoreDistance(a, b []endpoint.TokenLogprob) (nats float64, tokens int) {
	sum := 0.0
	for tokens < len(a) && tokens < len(b) && a[tokens].Token == b[tokens].Token {
		sum += math.Abs(a[tokens].Logprob - b[tokens].Logprob)
		tokens++
	}
	if tokens == 0 {
		return 0, 0
	}
	return sum / float64(tokens), tokens
}
