package smoke

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/reasoning",
	Doc: `thinking and the answer come each in its own channel

A reasoning parser that is off leaves thinking in the content, often with a lone </think>; one that assumes thinking where there is none
moves the whole answer into the reasoning field, and clients see an empty reply with finish_reason stop.`,
	Since:  "0.1.0",
	Cost:   1500 * time.Millisecond,
	Modes:  []string{"RSN-01", "RSN-02", "RSN-03", "RSN-05", "OUT-05"},
	Faults: []string{"think-in-content", "answer-in-reasoning", "empty"},
	Causes: []string{"the reasoning parser is off, or is another model family's", "the chat template opens the think block itself and the parser waits for the tag"},
	Next:   []string{"the server's reasoning-parser option: the right one for the model, or none"},
	Run:    reasoning,
})

func reasoning(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	told, err := secretTold(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	a := told.answer
	content := strings.TrimSpace(a.Content)
	switch {
	case a.UsedUpThinking():
		return gates.Warn("8,192 tokens of thinking and no answer").With("%s", a.Says()).Because("the budget was spent on thinking"), nil
	case content == "" && len(a.Calls) == 0 && a.Reasoning != "":
		return gates.Fail("the content is empty and everything is in the reasoning field").With("reasoning: %s", gates.Quote(a.Reasoning, 200)).
			With("finish_reason %s", gates.Quote(a.Finish, 20)), nil
	case content == "" && len(a.Calls) == 0:
		n, known := a.Usage.Completion.N()
		if known && n > 1 {
			return gates.Fail("the answer is empty on every channel, and %d tokens were counted", n).With("finish_reason %s", gates.Quote(a.Finish, 20)).
				Because("a parser ate the text", "NaN logits", "a template that does not fit the model"), nil
		}
		return gates.Fail("the answer is empty on every channel").With("finish_reason %s", gates.Quote(a.Finish, 20)), nil
	case strings.Contains(content, "</think>") && a.Reasoning == "":
		return gates.Warn("thinking is in the content").With("%s", gates.Quote(a.Content, 240)), nil
	case strings.Contains(content, "</think>"):
		return gates.Fail("the think tag leaks into the content although reasoning is parsed").With("%s", gates.Quote(a.Content, 240)), nil
	case a.Reasoning != "":
		return gates.Pass("%d characters of reasoning under %q, the answer apart", len([]rune(a.Reasoning)), a.ReasoningField), nil
	}
	ep.FoundUnable(endpoint.Reasons, "the model was not seen to think")
	return gates.Pass("no reasoning, and none leaks into the content"), nil
}
