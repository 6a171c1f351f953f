package correctness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/structured-company",
	Doc: `constrained answers in company hold what constrained answers alone hold

The masks of a grammar are shared buffers: a race writes one request's mask over another's, and the JSON is valid and full of word salad, or the engine dies of a
combination that it does not support. Requests with one schema and different codes are put alone and at once; each must parse, hold its own code and read as
words, and a plain question afterwards must be answered.`,
	Since:  "0.3.0",
	Cost:   4 * time.Second,
	Modes:  []string{"STC-03", "STC-04", "STC-07", "CON-05", "CON-07"},
	Faults: []string{"salad-in-json", "guided-kills", "guided-500", "guided-500-in-company", "company-500", "reject-above-1"},
	Causes: []string{"a race on the masks of the grammar backend", "constrained decoding beside speculative decoding"},
	Next:   []string{"another grammar backend or a newer one", "the same without speculative decoding"},
	Run:    structuredCompany,
}, sizing{3, func(r room) Work { return asks(constrainedIn(r)+4, 110, 60) }})

// constrainedIn returns how many constrained requests are put at once.
func constrainedIn(r room) int { return max(4, min(16, 2*r.inFlight)) }

var noteForm = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"},"summary":{"type":"string"}},"required":["code","summary"],"additionalProperties":false}`)

type noteAnswer struct {
	Code    string `json:"code"`
	Summary string `json:"summary"`
}

// constrained asks for a code and a sentence as JSON.
func (s Subject) constrained() trial {
	want := s.Canaries().Issue()
	text := s.fresh().Sentences(3) + " The secret code is " + want.String() + ". Give the code and a summary of the text in one short sentence as JSON."
	return trial{want: want, request: endpoint.Chat(text).JSONSchema("note", noteForm).MaxTokens(120)}
}

// fits reports what is wrong with a constrained answer, "" when nothing is. damaged says
// that no model's lack of ability explains it.
func fits(t trial) (bad string, damaged bool) {
	var v noteAnswer
	d := json.NewDecoder(strings.NewReader(t.answer.Content))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return "it is not the JSON that was asked for: " + t.answer.Says(), false
	}
	for _, text := range []string{v.Code, v.Summary} {
		for _, s := range gates.Degenerate(text, gates.TextContext{Prompt: t.request.Text()}) {
			if s.Hard && s.ID != "D1" {
				return fmt.Sprintf("a string of it is degenerate (%s: %s): %s", s.ID, s.Detail, t.answer.Says()), true
			}
		}
	}
	if t.echo != gates.Found {
		return "it does not hold its own code: " + t.answer.Says(), false
	}
	return "", false
}

func structuredCompany(ctx context.Context, ep Subject) (gates.Finding, error) {
	able := 0
	for range 2 {
		t := ep.constrained()
		switch t.answer, t.err = ep.Ask(ctx, t.request); endpoint.FateOf(t.err) {
		case endpoint.Answered:
		case endpoint.Declined:
			return gates.NotApply("the server refuses constrained answers: %s", endpoint.Reason(t.err)), nil
		case endpoint.TurnedAway, endpoint.Broken:
			return gates.Finding{}, t.err
		}
		t.judge(ep)
		if bad, _ := fits(t); bad == "" {
			able++
		}
	}
	if able == 0 {
		return gates.Skip("this model gives no code back in JSON alone: in company it says nothing"), nil
	}
	n := constrainedIn(ep.room("correctness/structured-company"))
	trials := make([]trial, n)
	for i := range trials {
		trials[i] = ep.constrained()
	}
	company, err := ep.burst(ctx, trials)
	if err != nil {
		return gates.Finding{}, err
	}
	whole := func(t trial) bool { bad, _ := fits(t); return bad == "" }
	came := turnoutOf("constrained requests", company)
	var salad, foreign *member
	right, damaged := 0, 0
	for i := range company {
		m := &company[i]
		if m.err != nil {
			continue // counted above
		}
		bad, hard := fits(m.trial)
		switch {
		case m.echo == gates.Foreign:
			foreign = m
		case hard:
			salad, damaged = m, damaged+1
		case bad == "":
			right++
		}
	}
	failing, bad := ep.failing(ctx, came)
	said := fmt.Sprintf("%d of %d constrained answers at once are right, %d of 2 alone", right, n, able)
	switch {
	case foreign != nil:
		return ep.blame(ctx, gates.Fail("a constrained answer holds the code %s of another request", foreign.seen).With("%s", foreign.says()), gates.Company), nil
	case bad:
		return failing, nil
	case damaged >= 2:
		bad, _ := fits(salad.trial)
		return ep.blame(ctx, gates.Fail("%d of %d constrained answers at once are valid JSON and word salad", damaged, n).With("%s", bad).With("%s", said), gates.Company), nil
	}
	lost, _, err := ep.rightAlone(ctx, company, whole)
	if err != nil {
		return gates.Finding{}, err
	}
	switch {
	case len(lost) >= lostLimit:
		bad, _ := fits(lost[0].trial)
		return ep.blame(ctx, gates.Fail("%d of %d constrained answers are wrong at once, and the same are right alone", len(lost), n).With("%s", bad).With("%s", said), gates.Company), nil
	case len(lost)+damaged > 1: // one may be a near tie
		return gates.Warn("%d of %d constrained answers are wrong at once, and right alone", len(lost)+damaged, n).With("%s", said).Under(gates.Company), nil
	}
	switch after := ep.floor(ctx); endpoint.FateOf(after.err) {
	case endpoint.Answered:
	case endpoint.TurnedAway:
		return gates.Finding{}, after.err
	case endpoint.Declined, endpoint.Broken:
		return gates.Fail("after %d constrained requests at once a plain question fails", n).With("%v", after.err).With("%s", said).Under(gates.Company), nil
	}
	return came.judged(gates.Pass("%s", said)), nil
}
