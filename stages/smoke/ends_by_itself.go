package smoke

import (
	"context"
	"regexp"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/ends-by-itself",
	Doc: `a short answer ends by itself

With the end token of the base model, or none, an answer goes on into turns that nobody wrote: "User: …", "Assistant: …". Each reply then
costs the whole limit. A model that rambles without inventing turns is warned of: it may have no chat template.`,
	Since:  "0.2.0",
	Cost:   900 * time.Millisecond,
	Modes:  []string{"STP-01", "TPL-03"},
	Faults: []string{"never-stops"},
	Causes: []string{"generation_config.json and the tokenizer name different end tokens (stage 0 compares them)", "a wrong chat template", "a base model without a template"},
	Next:   []string{"infbench stage0 --checkpoint PATH", "the union of both end tokens in generation_config.json"},
	Run:    endsByItself,
})

// turn is the beginning of a turn that a model invents.
var turn = regexp.MustCompile(`(?i)(^|\n)\s*(<\|[a-z_]+\|>)?\s*(user|human|assistant|system)\s*(:|\n|<\|)`)

func endsByItself(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	var last endpoint.Answer
	for range 2 { // a small model may ramble once
		c := ep.Canaries().Issue()
		plant, question := secret(c)
		a, err := ep.Ask(ctx, endpoint.Chat(plant+" "+question).MaxTokens(256))
		if err != nil {
			return gates.Finding{}, err
		}
		if a.Finish != "length" || a.UsedUpThinking() {
			return gates.Pass("a one-line answer ends with finish_reason %s", gates.Quote(a.Finish, 20)), nil
		}
		last = a
	}
	text := last.Visible()
	if at := turn.FindStringIndex(text); at != nil && at[0] > 0 {
		return gates.Fail("a one-line answer runs on into turns that nobody wrote, twice").With("%s", last.Says()).With("… %s", gates.Quote(text[at[0]:], 120)), nil
	}
	return gates.Warn("a one-line answer takes 256 tokens and does not end, twice").With("%s", last.Says()), nil
}
