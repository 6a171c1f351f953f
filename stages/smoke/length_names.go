package smoke

import (
	"context"
	"errors"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/length-names",
	Doc: `max_completion_tokens, the newer name of the limit, is honoured or refused

Newer clients send it alone. A server that does not know it and says nothing lets every answer run to the end of the context.`,
	Since:  "0.2.0",
	Cost:   700 * time.Millisecond,
	Modes:  []string{"STP-04"},
	Faults: []string{"max-completion-tokens-ignored"},
	Causes: []string{"the server or a gateway knows max_tokens alone"},
	Next:   []string{"send both names, or set a default limit on the server"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		const limit = 8
		a := ep.Stream(ctx, endpoint.Chat("Count from 1 to 40, separated by commas.").MaxCompletionTokens(limit).HangUp(4*limit))
		var f *endpoint.Failure
		if errors.As(a.Err(), &f) && f.Kind == endpoint.Refused {
			return gates.Warn("the server refuses max_completion_tokens: %s", f.Said), nil
		}
		if err := a.Err(); err != nil {
			return gates.Finding{}, err
		}
		n, counted := a.Usage.Completion.N()
		switch events := len(a.Timing.Marks); {
		case a.End == endpoint.HungUp:
			return gates.Warn("max_completion_tokens %d is ignored", limit).With("%d events with text, and then the stream was dropped", events).With("answered %s", a.Says()), nil
		case counted && n > limit+1 || !counted && events > limit+2:
			return gates.Warn("max_completion_tokens %d is ignored: %d events with text", limit, events).With("answered %s", a.Says()), nil
		}
		return gates.Pass("cut at %d tokens", limit), nil
	},
})
