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
costs the whole limit. Answers that begin with the name of a role come of a wrong template. A model that rambles without inventing turns is warned of: it may have no chat template.`,
	Since:  "0.2.0",
	Cost:   900 * time.Millisecond,
	Modes:  []string{"STP-01", "TPL-03"},
	Faults: []string{"never-stops", "role-text"},
	Causes: []string{"generation_config.json and the tokenizer name different end tokens (stage 0 compares them)", "a wrong chat template", "a base model without a template"},
	Next:   []string{"infbench stage0 --checkpoint PATH", "the union of both end tokens in generation_config.json"},
	Run:    endsByItself,
})

// turn is the beginning of a turn that a model invents.
var turn = regexp.MustCompile(`(?i)(^|\n)\s*(<\|[a-z_]+\|>)?\s*(user|human|assistant|system)\s*(:|\n|<\|)`)

// roleText is the head of a turn that stands in the answer itself.
var roleText = regexp.MustCompile(`(?i)^\s*(user|human|assistant|system|model|bot)\s*(:|\n)`)

func endsByItself(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	// A small model may ramble about a code, and hardly about all three.
	plant, question := secret(ep.Canaries().Issue())
	var last endpoint.Answer
	for i, r := range []endpoint.Request{{}, endpoint.Chat("What is the capital of France?").MaxTokens(256), endpoint.Chat(plant + " " + question).MaxTokens(256)} {
		var a endpoint.Answer
		x, err := secretTold(ctx, ep)
		if a = x.answer; i > 0 && err == nil {
			a, err = ep.Ask(ctx, r)
		}
		if err != nil {
			return gates.Finding{}, err
		}
		if role := roleText.FindString(a.Visible()); role != "" {
			if roleText.MatchString(last.Visible()) {
				return gates.Warn("answers begin with the name of a role, twice: %s", gates.Quote(role, 20)).With("%s", a.Says()), nil
			}
		} else if a.Finish != "length" || a.UsedUpThinking() {
			return gates.Pass("a one-line answer ends with finish_reason %s", gates.Quote(a.Finish, 20)), nil
		}
		last = a
	}
	text := last.Visible()
	if at := turn.FindStringIndex(text); at != nil && at[0] > 0 {
		return gates.Fail("a one-line answer runs on into turns that nobody wrote, three times").With("%s", last.Says()).With("… %s", gates.Quote(text[at[0]:], 120)), nil
	}
	return gates.Warn("a one-line answer takes 256 tokens and does not end, three times").With("%s", last.Says()), nil
}
