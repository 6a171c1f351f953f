package smoke

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/degeneracy",
	Doc: `free text does not decay into loops, salad or broken characters

A decode path can go wrong after tens of tokens while the first ones are right. The detectors and their limits are those measured on
legitimate code, prose, tables and eight scripts. A sentence loop alone may be a small model's habit at temperature 0: it fails only when
it loops at temperature 0.7 too.`,
	Since:  "0.1.0",
	Cost:   4 * time.Second,
	Modes:  []string{"OUT-01", "OUT-02", "OUT-03", "OUT-04", "OUT-06", "OUT-07", "OUT-08", "OUT-10"},
	Faults: []string{"one-token", "salad", "loop", "replacement", "control", "markers", "mojibake", "empty"},
	Causes: []string{"a kernel or quantisation fault in the decode path", "an incomplete set of stop tokens, or the wrong parser (control markers)", "a quantised KV cache without scales"},
	Next:   []string{"infbench stage3 --target URL: does it need length, company or a warm cache?", "the same server in eager mode, with an unquantised KV cache"},
	Run:    degeneracy,
})

func degeneracy(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	ask := endpoint.Chat("Explain in four sentences why the sky is blue.").MaxTokens(160)
	a, err := ep.Ask(ctx, ask)
	if err != nil {
		return gates.Finding{}, err
	}
	if a.Everything() == "" {
		return gates.Fail("nothing came back on any channel").With("finish_reason %s", gates.Quote(a.Finish, 20)), nil
	}
	hard, soft := symptoms(a, ask)
	if len(hard) == 0 && len(soft) == 0 {
		return gates.Pass("%d characters, no detector fired", len([]rune(a.Everything()))), nil
	}
	if onlyLoops(hard) {
		again, err := ep.Ask(ctx, ask.Temperature(0.7).Seed(7))
		if err != nil {
			return gates.Finding{}, err
		}
		if h, _ := symptoms(again, ask); len(h) == 0 {
			soft, hard = append(hard, soft...), nil
		}
	}
	f := gates.Fail("the text is degenerate")
	if len(hard) == 0 {
		f = gates.Warn("the text has a mild symptom")
	}
	for _, s := range append(hard, soft...) {
		f = f.With("%s: %s", s.ID, s.Detail)
	}
	return f.With("the text: %s", gates.Quote(a.Everything(), 400)), nil
}

// symptoms runs the detectors over each channel on its own.
func symptoms(a endpoint.Answer, ask endpoint.Request) (hard, soft []gates.Symptom) {
	in := gates.TextContext{Prompt: ask.Text(), CutShort: a.CutShort()}
	for _, channel := range []string{a.Content, a.Reasoning, a.Refusal} {
		for _, s := range gates.Degenerate(channel, in) {
			// A think block in the content is another check's finding.
			if s.Hard {
				hard = append(hard, s)
			} else {
				soft = append(soft, s)
			}
		}
	}
	return hard, soft
}

func onlyLoops(hard []gates.Symptom) bool {
	for _, s := range hard {
		if s.ID != "D1" {
			return false
		}
	}
	return len(hard) > 0
}
