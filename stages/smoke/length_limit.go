package smoke

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/length-limit",
	Doc: `max_tokens ends the answer, and finish_reason says so

A limit that is ignored makes answers and costs unbounded; a cut answer that says "stop" is taken for a whole one.`,
	Since:  "0.1.0",
	Cost:   time.Second,
	Modes:  []string{"STP-03", "STP-04", "USG-02"},
	Faults: []string{"max-tokens-ignored", "cap-says-stop", "usage-double", "usage-half"},
	Causes: []string{"the server knows the limit under another name", "a gateway drops or rewrites the field", "tokens are counted per event"},
	Next:   []string{"the same request with max_completion_tokens"},
	Run:    lengthLimit,
})

func lengthLimit(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	const limit = 16
	a := ep.Stream(ctx, endpoint.Chat("Count from 1 to 500, one number per line.").MaxTokens(limit).HangUp(4*limit))
	if err := a.Err(); err != nil {
		return gates.Finding{}, err
	}
	n, counted := a.Usage.Completion.N()
	events := len(a.Timing.Marks)
	saw := func(f gates.Finding) gates.Finding {
		if counted {
			f = f.With("%d completion tokens, %d events with text, max_tokens %d", n, events, limit)
		} else {
			f = f.With("%d events with text, max_tokens %d", events, limit)
		}
		return f.With("answered %s", a.Says())
	}
	// An event may hold several tokens, never the other way round.
	switch {
	case a.End == endpoint.HungUp:
		return saw(gates.Fail("max_tokens %d is ignored", limit)).With("the stream was dropped there"), nil
	case counted && n > limit+1 && events > limit+1:
		return saw(gates.Fail("max_tokens %d is ignored", limit)), nil
	case counted && n > limit+1:
		return saw(gates.Fail("%d completion tokens are counted where at most %d can have been made", n, limit)), nil
	case !counted && events > limit+2:
		return saw(gates.Fail("max_tokens %d is ignored", limit)), nil
	case counted && events > n+2: // a parser may cut one token in two
		return saw(gates.Fail("%d events with text are counted as %d tokens, and none has less than one", events, n)), nil
	case a.Finish == "length":
		return gates.Pass("cut at %d tokens, finish_reason length", limit), nil
	case counted && n >= limit:
		return cutOrEnded(ctx, ep, saw(gates.Fail("the answer was cut at the limit and says finish_reason %s", gates.Quote(a.Finish, 20))))
	case a.Finish == "stop":
		return gates.Skip("the model stopped by itself before the limit, so that nothing was cut").With("answered %s", a.Says()), nil
	}
	return saw(gates.Warn("finish_reason is %s, want length", gates.Quote(a.Finish, 20))), nil
}

// cutOrEnded asks once more with another limit: an answer that happens to end by
// itself at the first limit does not end at the second one too.
func cutOrEnded(ctx context.Context, ep endpoint.Endpoint, cut gates.Finding) (gates.Finding, error) {
	const limit = 7
	a := ep.Stream(ctx, endpoint.Chat("Count from 1 to 500, one number per line.").MaxTokens(limit))
	if err := a.Err(); err != nil {
		return gates.Finding{}, err
	}
	if n, ok := a.Usage.Completion.N(); ok && n >= limit && a.Finish != "length" {
		return cut, nil
	}
	return gates.Pass("cut at %d tokens, finish_reason %s", limit, gates.Quote(a.Finish, 20)), nil
}
