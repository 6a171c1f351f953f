package smoke

import (
	"context"
	"errors"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/limit-at-window",
	Doc: `a token limit as large as the context is refused or clipped, not answered with nothing

Clients often ask for as much as the model's card says. Prompt and limit together are then too much, and some servers answer with status 200, no text
and finish_reason length. The answer is dropped after its first words.`,
	Since:  "0.2.0",
	Cost:   400 * time.Millisecond,
	Modes:  []string{"CTX-11"},
	Faults: []string{"window-empty"},
	Causes: []string{"the room for the answer is computed as the context minus prompt and limit"},
	Next:   []string{"a smaller max_tokens, and a server that refuses in words"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		window := ep.ContextTokens(0)
		if window <= 0 {
			return gates.Skip("%s", noWindow), nil
		}
		a := ep.Stream(ctx, endpoint.Chat("Count from 1 to 40, separated by commas.").MaxTokens(window).HangUp(8))
		var f *endpoint.Failure
		switch err := a.Err(); {
		case errors.As(err, &f) && f.Kind == endpoint.Refused:
			return gates.Pass("max_tokens %d is refused: status %d", window, f.Status), nil
		case errors.As(err, &f) && f.Kind == endpoint.ServerFault:
			return gates.Warn("max_tokens %d, the whole context, gets status %d instead of a refusal", window, f.Status).With("%s", f.Said), nil
		case errors.As(err, &f) && aboutStream(f) && f.Kind != endpoint.TooSlow:
			return gates.Fail("max_tokens %d, the whole context, breaks the stream: %v", window, err), nil
		case err != nil:
			return gates.Finding{}, err
		case a.Everything() == "":
			return gates.Fail("max_tokens %d, the whole context, is answered with nothing and finish_reason %s", window, gates.Quote(a.Finish, 20)), nil
		}
		return gates.Pass("max_tokens %d is taken, and clipped to what fits", window), nil
	},
})
