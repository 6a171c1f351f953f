package smoke

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/logprobs",
	Doc: `logprobs, where there are any, are logprobs of the text

Positive or infinite values, lists that are shifted against the text, a chosen token that is not the likeliest at temperature 0: what
is then compared or ranked by them is noise. Asked for in a pass of its own, since asking can change the code path.`,
	Since:  "0.1.0",
	Cost:   1100 * time.Millisecond,
	Modes:  []string{"LGP-01", "LGP-02", "LGP-03", "LGP-04", "LGP-06"},
	Faults: []string{"logprobs-positive", "logprobs-shifted", "logprobs-zero", "logprobs-sentinel", "logprobs-nan"},
	Causes: []string{"probabilities written where logprobs belong", "offsets wrong with speculative decoding or multi-token events"},
	Next:   []string{"the same request with speculative decoding off"},
	Run:    logprobs,
})

func logprobs(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	a := ep.Complete(ctx, endpoint.Chat("Write one sentence about the sea.").MaxTokens(12).Logprobs(3))
	var refused *endpoint.Failure
	if err := a.Err(); errors.As(err, &refused) && refused.Kind == endpoint.Refused && (refused.Status == 400 || refused.Status == 422 || refused.Status == 501) {
		return gates.Skip("the server refuses logprobs: %s", refused.Said), nil
	} else if err != nil {
		return gates.Finding{}, err
	}
	if len(a.Logprobs) == 0 {
		return gates.Skip("asked for, and the answer holds none"), nil
	}
	var text strings.Builder
	unlikely, absent, nought := 0, 0, 0
	for i, e := range a.Logprobs {
		text.WriteString(e.Token)
		sum := 0.0
		top := math.Inf(-1)
		listed := len(e.Top) == 0
		for _, t := range e.Top {
			sum += math.Exp(t.Logprob)
			top = max(top, t.Logprob)
			listed = listed || t.Token == e.Token
		}
		if !listed {
			absent++
		}
		if e.Logprob == 0 {
			nought++
		}
		switch {
		case e.Logprob > 1e-4:
			return gates.Fail("the logprob of token %d is %g: above 0", i, e.Logprob), nil
		case math.IsInf(e.Logprob, 0) || math.IsNaN(e.Logprob) || e.Logprob < -1000:
			return gates.Warn("the logprob of token %d is %g", i, e.Logprob), nil
		case sum > 1.001:
			return gates.Fail("the %d likeliest tokens at position %d add up to %.3f", len(e.Top), i, sum), nil
		case len(e.Top) > 0 && e.Logprob < top-0.01:
			unlikely++
		}
	}
	if joined := squeeze(text.String()); !sameText(joined, squeeze(a.Reasoning), squeeze(a.Content)) {
		return gates.Fail("the tokens of the logprobs are not those of the text").With("text %s", gates.Quote(a.Reasoning+a.Content, 80)).With("tokens %s", gates.Quote(text.String(), 80)), nil
	}
	if absent*2 > len(a.Logprobs) {
		return gates.Fail("%d of %d tokens at temperature 0 are not in their own list of likeliest tokens: the list is shifted", absent, len(a.Logprobs)), nil
	}
	if nought == len(a.Logprobs) && nought >= 8 { // an open question has choices
		return gates.Warn("all %d logprobs are exactly 0: nobody filled them in", nought), nil
	}
	if unlikely > 0 {
		return gates.Warn("%d of %d tokens at temperature 0 are not the likeliest of their list", unlikely, len(a.Logprobs)), nil
	}
	return gates.Pass("%d tokens, finite, at most 0, and those of the text", len(a.Logprobs)), nil
}

// sameText reports whether the joined tokens begin as the text does. Some servers list
// the stop token too, or leave out the last one; a model that thinks has its logprobs
// over both channels, with tags between them.
func sameText(joined, reasoning, content string) bool {
	switch full := reasoning + content; {
	case full == "":
		return true
	case strings.Contains(joined, full): // tags that a parser took out stand around it
		return true
	case strings.HasPrefix(full, joined):
		return len(full)-len(joined) < 8
	}
	return reasoning != "" && strings.Contains(joined, content)
}

// squeeze drops blanks: tokenizers differ in whether a token shows its own.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
