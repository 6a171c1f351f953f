package smoke

import (
	"context"
	"errors"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/stream-contract",
	Doc: `a stream follows the contract from its first event to its end

Clients hang on a stream that never ends, lose text in a broken character, and take a cut answer for a whole one. Fatal: an event that
is not JSON or not UTF-8, two finish reasons or none, an error inside the stream, a connection that stays open. Warned of: a missing
[DONE] after a clean end, an id that changes, an answer that arrives in one piece although it has many tokens.`,
	Since:  "0.1.0",
	Cost:   1600 * time.Millisecond,
	Modes:  []string{"STR-01", "STR-02", "STR-03", "STR-04", "STR-06", "STR-08", "STR-12"},
	Faults: []string{"no-done", "stays-open", "cut", "truncated", "sse-error", "bad-json", "bad-utf8", "two-finishes", "no-finish", "html", "plain-json", "buffered", "id-changes"},
	Causes: []string{"a proxy in between buffers or closes streams", "a worker died inside the answer", "the server's stream joiner splits characters"},
	Next:   []string{"the same request past the proxy, straight to the server", "curl -N the target and read the raw events"},
	Run:    streamContract,
})

// bufferedTokens is the least length at which "all in one piece" means anything.
const bufferedTokens = 24

func streamContract(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	x, err := counting(ctx, ep)
	a := x.answer
	var f *endpoint.Failure
	if errors.As(err, &f) && !aboutStream(f) {
		return gates.Finding{}, err
	}
	if err != nil {
		return gates.Fail("the stream did not end well: %v", err).With("answered so far: %s", a.Says()), nil
	}
	seen, bad := gates.Fail("the stream breaks the contract: %s", firstHard(a)), firstHard(a) != ""
	if !bad {
		seen = gates.Warn("the stream breaks the contract in a way that clients survive")
	}
	for _, b := range a.Broke {
		seen = seen.With("%s", b.What)
	}
	if bad {
		return seen, nil
	}
	last := a
	for tries := 0; buffered(last) && tries < 2; tries++ { // a client that is starved of its processor reads all at once too
		if last = ep.Stream(ctx, x.asked); last.Err() != nil {
			return gates.Finding{}, last.Err()
		}
	}
	if buffered(last) {
		t := last.Timing
		return seen.With("%d tokens came in %d reads within %v of the %v that the answer took, three times", tokensOf(last), readsOf(last), (t.LastToken - t.FirstToken).Round(time.Millisecond), t.Ended.Round(time.Millisecond)).
			With("something buffers the stream: a time to the first token would mean nothing"), nil
	}
	if len(a.Broke) > 0 {
		return seen, nil
	}
	return gates.Pass("%d events with text in %d reads, finish_reason %s, [DONE]", len(a.Timing.Marks), a.Timing.Reads, gates.Quote(a.Finish, 20)), nil
}

// buffered reports whether an answer of some length came in one piece or two.
func buffered(a endpoint.Answer) bool {
	spread := a.Timing.LastToken - a.Timing.FirstToken
	return tokensOf(a) >= bufferedTokens && (readsOf(a) <= 2 || spread < a.Timing.Ended/50)
}

// tokensOf counts the tokens of an answer, by its reads where the server does not.
func tokensOf(a endpoint.Answer) int { return a.Usage.Completion.Or(len(a.Timing.Marks)) }

// aboutStream reports whether a failure is one of the stream itself, and not of the
// way to the server.
func aboutStream(f *endpoint.Failure) bool {
	switch f.Kind {
	case endpoint.BrokenOff, endpoint.SaidError, endpoint.NotTheAPI, endpoint.Malformed, endpoint.TooLarge, endpoint.TooSlow:
		return true
	default:
		return false
	}
}

func firstHard(a endpoint.Answer) string {
	for _, b := range a.Broke {
		if b.Hard {
			return b.What
		}
	}
	return ""
}

// readsOf counts the reads that brought text.
func readsOf(a endpoint.Answer) int {
	n, last := 0, int32(-1)
	for _, m := range a.Timing.Marks {
		if m.Read != last {
			n++
		}
		last = m.Read
	}
	return n
}
