package smoke

import (
	"context"
	"errors"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/template-tokens",
	Doc: `a conversation begins with one token of its beginning, not with two

The template writes the begin token and the tokenizer adds another: every answer is a little worse, and nothing says so. Asked of engines that
show the tokens of a conversation.`,
	Since:  "0.2.0",
	Cost:   200 * time.Millisecond,
	Modes:  []string{"TPL-01"},
	Faults: []string{"double-bos"},
	Causes: []string{"the template holds the begin token and add_bos_token is set too", "a conversion that wrote the token into both"},
	Next:   []string{"take the token out of the template, or switch add_special_tokens off", "infbench stage0 --checkpoint PATH"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		ids, err := ep.ChatTokens(ctx, endpoint.Chat("Hello"))
		if errors.Is(err, endpoint.ErrNoTokenizer) {
			return gates.NotApply("the engine does not show the tokens of a conversation"), nil
		}
		switch endpoint.FateOf(err) {
		case endpoint.Answered:
		case endpoint.Declined:
			return gates.NotApply("the engine does not show the tokens of a conversation: %s", gates.Printable(err.Error(), 120)), nil
		case endpoint.TurnedAway, endpoint.Broken: // a route of the engine's own, beside what is served
			return gates.Skip("the engine has a route that shows the tokens of a conversation, and it fails: %s", gates.Printable(err.Error(), 120)), nil
		}
		if len(ids) > 1 && ids[0] == ids[1] {
			return gates.Warn("a conversation begins with the token %d twice", ids[0]), nil
		}
		return gates.Pass("%d tokens, the first two differ", len(ids)), nil
	},
})
