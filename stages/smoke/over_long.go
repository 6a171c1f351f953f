package smoke

import (
	"context"
	"errors"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/over-long",
	Doc: `a prompt longer than the context is refused, never cut in silence

A server that drops the head of a prompt answers with status 200 and has forgotten the instructions; agents then go wrong for hours. The expected
length follows from two short prompts by the server's own count.`,
	Since:  "0.2.0",
	Cost:   1500 * time.Millisecond,
	Modes:  []string{"CTX-01", "CTX-03", "CTX-04", "CTX-11"},
	Faults: []string{"needle-loss", "over-long-cut", "over-long-garbage"},
	Causes: []string{"a small default window and silent truncation", "an overflow policy of the front end", "the context was divided among slots"},
	Next:   []string{"set the window on the server, and make it refuse what does not fit"},
	Run:    overLong,
})

// longest is the context, in tokens, above which the prompt would be too large to send
// to a server that might compute it.
const longest = 262_144

const noWindow = "the server does not say how long its context is: state it with --context"

func overLong(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	window := ep.ContextTokens(0)
	switch {
	case window <= 0:
		return gates.Skip("%s", noWindow), nil
	case window > longest:
		return gates.NotApply("a context of %d tokens: a prompt beyond it is not sent", window), nil
	}
	if promised := ep.PromisedContextTokens(); float64(window) < 0.95*float64(promised) {
		return gates.Fail("the server has a context of %d tokens, and was meant to have %d", window, promised).
			Because("a default window, or one that the memory did not allow", "the context was divided among slots").Then("set the window on the server"), nil
	}
	const sentence = "The river runs past the old mill and the bridge. "
	count := func(n int) (int, bool, error) {
		a := ep.Complete(ctx, endpoint.Chat(strings.Repeat(sentence, n)).MaxTokens(1))
		k, ok := a.Usage.Prompt.N()
		return k, ok, a.Err()
	}
	short, ok, err := count(2)
	if err != nil {
		return gates.Finding{}, err
	}
	longer, _, err := count(22)
	if err != nil {
		return gates.Finding{}, err
	}
	each := float64(longer-short) / 20
	if !ok || each < 1 {
		return gates.Skip("the server does not count prompt tokens as they grow"), nil
	}
	repeats := int(1.1*float64(window)/each) + 1
	want := short + int(each*float64(repeats-2))
	a := ep.Complete(ctx, endpoint.Chat(strings.Repeat(sentence, repeats)).MaxTokens(48))
	var f *endpoint.Failure
	switch err := a.Err(); {
	case errors.As(err, &f) && f.Kind == endpoint.Refused:
		return gates.Pass("about %d tokens for a context of %d are refused: status %d", want, window, f.Status), nil
	case errors.As(err, &f) && f.Kind == endpoint.ServerFault:
		after := gates.Warn("about %d tokens for a context of %d get status %d instead of a refusal", want, window, f.Status)
		if ep.Complete(ctx, endpoint.Chat("Hello").MaxTokens(1)).Failure != nil {
			after = gates.Fail("a prompt longer than the context broke the server: status %d, and then it does not answer", f.Status)
		}
		return after.With("%s", f.Said), nil
	case err != nil:
		return gates.Finding{}, err
	}
	got, known := a.Usage.Prompt.N()
	if text := a.Visible(); damage(text) != "" {
		return gates.Fail("about %d tokens for a context of %d are accepted, and the answer is noise: %s", want, window, damage(text)).With("answered %s", a.Says()), nil
	}
	switch {
	case !known:
		return gates.Warn("about %d tokens for a context of %d are accepted, and the server does not say how many it read", want, window), nil
	case float64(got) < 0.97*float64(want):
		return gates.Fail("the prompt was cut in silence: about %d tokens were sent, %d were read, the context is %d", want, got, window).With("answered %s", a.Says()), nil
	}
	return gates.Warn("a prompt of %d tokens is accepted, and the context is %d", got, window).With("answered %s", a.Says()), nil
}
