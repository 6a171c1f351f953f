package smoke

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/stream-equals-plain",
	Doc: `the streamed answer and the plain answer are the same answer

Servers build the two in different code: a stream joiner loses the last piece or splits a character, a parser works in one mode only.
Texts may drift apart at a near tie, so equality of bytes is not asked for: both must hold the code that they were asked for, neither may
be empty, and a text that is a cut or scrambled form of the other has failed.`,
	Since:  "0.1.0",
	Cost:   2500 * time.Millisecond,
	Modes:  []string{"STR-04", "STR-07", "STR-09", "RSN-08"},
	Faults: []string{"lost-tail", "lost-head", "split-utf8", "reordered", "empty-stream", "reasoning-split"},
	Causes: []string{"the stream joiner or detokeniser loses pieces", "a parser (tools, reasoning) behaves differently when streamed", "a gateway rewrites streams"},
	Next:   []string{"curl the same request with and without \"stream\": true"},
	Run:    streamEqualsPlain,
})

func streamEqualsPlain(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	equal, drifted := 0, 0
	for _, ask := range []func(context.Context, endpoint.Endpoint) (streamed, plain exchange, err error){secretBothWays, charactersBothWays} {
		told, toldPlain, err := ask(ctx, ep)
		if err != nil {
			return gates.Finding{}, err
		}
		streamed, plain, r, c := told.answer, toldPlain.answer, told.asked, told.canary
		why := differ(streamed, plain, c)
		if why == "" {
			equal++
			continue
		}
		// Once more: a near tie falls the same way twice less often than a fault does.
		if streamed, err = ep.Ask(ctx, r); err != nil {
			return gates.Finding{}, err
		}
		if plain, err = ep.AskPlain(ctx, r); err != nil {
			return gates.Finding{}, err
		}
		if why = differ(streamed, plain, c); why != "" && why != drift {
			return gates.Fail("the streamed answer is not the plain one: %s", why).With("streamed: %s", streamed.Says()).With("plain: %s", plain.Says()), nil
		}
		drifted++
	}
	if drifted > 0 {
		return gates.Pass("%d of 2 equal, %d drifted apart with the answer still right", equal, drifted), nil
	}
	return gates.Pass("2 of 2 equal"), nil
}

func secretBothWays(ctx context.Context, ep endpoint.Endpoint) (streamed, plain exchange, err error) {
	if streamed, err = secretTold(ctx, ep); err == nil {
		plain, err = secretToldPlain(ctx, ep)
	}
	return streamed, plain, err
}

// charactersBothWays asks for characters of two, three and four bytes, the ones that a
// joiner splits, from left to right and from right to left.
func charactersBothWays(ctx context.Context, ep endpoint.Endpoint) (streamed, plain exchange, err error) {
	r := endpoint.Chat("Repeat: naïve 漢字 ✓ שלום 🙂 مرحبا ü done").MaxTokens(64)
	streamed.asked, plain.asked = r, r
	if streamed.answer, err = ep.Ask(ctx, r); err == nil {
		plain.answer, err = ep.AskPlain(ctx, r)
	}
	return streamed, plain, err
}

const drift = "drift"

// differ says how two answers to one request differ, "" when they do not.
func differ(streamed, plain endpoint.Answer, c gates.Canary) string {
	s, p := streamed.Visible(), plain.Visible()
	switch {
	case s == p && streamed.Reasoning == plain.Reasoning:
		return ""
	case (s == "") != (p == ""):
		return "one is empty"
	case s == p && thinkingStays(streamed) != thinkingStays(plain):
		return "the thinking has its own field in one of them and stands in the content of the other"
	case damage(s) != "" && damage(p) == "":
		return "the streamed text is damaged: " + damage(s)
	case sameLetters(s, p):
		return "the same characters come in another order"
	case len(s)+2 < len(p) && p[:len(s)] == s && streamed.Finish == plain.Finish: // a full stop may fall at a near tie
		return "the streamed text lacks the end"
	case s != "" && len(s) < len(p) && strings.HasSuffix(p, s) && streamed.Finish == plain.Finish:
		return "the streamed text lacks the beginning"
	case c != gates.Canary{}:
		a, _ := gates.NewCanaries(0).Judge(s, c)
		b, _ := gates.NewCanaries(0).Judge(p, c)
		if a != b {
			return "only one holds the code " + c.String()
		}
	}
	return drift
}

// thinkingStays reports whether thinking is in the content, in tags.
func thinkingStays(a endpoint.Answer) bool {
	return a.Reasoning == "" && strings.Contains(a.Content, "</think>")
}

// damage returns the first hard symptom of a text.
func damage(text string) string {
	for _, s := range gates.Degenerate(text, gates.TextContext{}) {
		if s.Hard {
			return s.Detail
		}
	}
	return ""
}

// sameLetters reports whether two different texts are made of the same bytes.
func sameLetters(a, b string) bool {
	if len(a) != len(b) || a == b {
		return false
	}
	var n [256]int
	for i := range len(a) {
		n[a[i]]++
		n[b[i]]--
	}
	return n == [256]int{}
}
