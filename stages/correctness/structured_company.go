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
	Modes:  []string{"STC-03", "STC-04", "STC-07", "CON-07"},
	Faults: []string{"salad-in-json", "guided-kills"},
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
		if t.answer, t.err = ep.Ask(ctx, t.request); t.err != nil {
			return gates.NotApply("constrained answers are refused: %v", t.err), nil //nolint:nilerr // the refusal is the finding
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
	var broken, salad, foreign *member
	right, damaged, failed := 0, 0, 0
	for i := range company {
		m := &company[i]
		bad, hard := "", false
		if m.err == nil {
			bad, hard = fits(m.trial)
		}
		switch {
		case busy(m.err):
		case m.err != nil:
			broken, failed = m, failed+1
		case m.echo == gates.Foreign:
			foreign = m
		case hard:
			salad, damaged = m, damaged+1
		case bad == "":
			right++
		}
	}
	after := ep.floor(ctx)
	said := fmt.Sprintf("%d of %d constrained answers at once are right, %d of 2 alone", right, n, able)
	switch {
	case foreign != nil:
		return ep.blame(ctx, gates.Fail("a constrained answer holds the code %s of another request", foreign.seen).With("%s", foreign.says()), gates.Company), nil
	case broken != nil:
		f := gates.Fail("%d of %d constrained requests at once fail, and alone they do not", failed, n).With("%v", broken.err)
		if after.unanswered() {
			f = f.With("a plain question afterwards fails too: %v", after.err)
		}
		return f.Under(gates.Company), nil
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
	return gates.Pass("%s", said), nil
}
