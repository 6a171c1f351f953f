package smoke

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/thinking-off",
	Doc: `a model that thinks can be told not to, and then answers in the content

A parser that assumes thinking while it is off moves the whole answer into the reasoning field, and clients see nothing. Asked only of models that
were seen to think.`,
	Since:  "0.2.0",
	Cost:   1600 * time.Millisecond,
	Modes:  []string{"RSN-02", "RSN-04"},
	Faults: []string{"answer-in-reasoning", "thinking-off-ignored"},
	Causes: []string{"the reasoning parser assumes an opening tag that the template does not write", "the option is not passed to the template"},
	Next:   []string{"the server's reasoning-parser option", "the template's own switch"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		if why := ep.Unable(endpoint.Reasons); why != "" {
			return gates.NotApply("%s", why), nil
		}
		told, err := secretTold(ctx, ep)
		if err != nil {
			return gates.Finding{}, err
		}
		on := told.answer
		if on.Reasoning == "" {
			return gates.NotApply("the model was not seen to think"), nil
		}
		c := ep.Canaries().Issue()
		plant, question := secret(c)
		off, err := ep.Ask(ctx, endpoint.Chat(plant+" "+question).Thinking(false))
		switch endpoint.FateOf(err) {
		case endpoint.Answered:
		case endpoint.Declined:
			return gates.Pass("info: the switch is refused: %s", gates.Printable(err.Error(), 120)), nil
		case endpoint.TurnedAway, endpoint.Broken:
			return gates.Finding{}, err
		}
		switch {
		case strings.TrimSpace(off.Content) == "" && strings.Contains(off.Reasoning, c.String()):
			return gates.Fail("with thinking off the answer is in the reasoning field and the content is empty").With("reasoning: %s", gates.Quote(off.Reasoning, 160)), nil
		case len(off.Reasoning)*5 > len(on.Reasoning):
			return gates.Warn("enable_thinking false is ignored: %d characters of thinking with it, %d without", len(off.Reasoning), len(on.Reasoning)).
				Because("the template has another switch, or none", "the option is not passed to the template"), nil
		}
		return gates.Pass("thinking can be turned off, and the answer is in the content"), nil
	},
})
