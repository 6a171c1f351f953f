package smoke

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/template",
	Doc: `system message and history reach the model

A chat template that drops a role answers with status 200 and a shorter prompt. The server's own count of prompt tokens tells, so this needs no
ability of the model: each addition must raise the count by half of what its words take.`,
	Since:  "0.2.0",
	Cost:   800 * time.Millisecond,
	Modes:  []string{"TPL-04", "TPL-05", "TPL-07"},
	Faults: []string{"drop-system", "drop-history", "system-replaced"},
	Causes: []string{"the template knows no system role, or keeps the last turn alone", "a default template in the place of the model's own"},
	Next:   []string{"infbench stage0 --checkpoint PATH", "the server's --chat-template option"},
	Run:    template,
})

func template(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	count := func(r endpoint.Request) (int, bool, error) {
		a := ep.Complete(ctx, r.MaxTokens(1))
		n, ok := a.Usage.Prompt.N()
		return n, ok, a.Err()
	}
	// A plain word is a token and more in every tokenizer.
	prose := endpoint.NewProse(7).Sentences(8)
	words := len(strings.Fields(prose))
	base, known, err := count(endpoint.Chat("Hello"))
	if err != nil {
		return gates.Finding{}, err
	}
	if !known {
		return gates.Skip("the server does not count prompt tokens"), nil
	}
	var lost, refused []string
	for _, c := range []struct {
		what string
		r    endpoint.Request
	}{
		{"the system message", endpoint.Conversation().System(prose).User("Hello")},
		{"an earlier question and its answer", endpoint.Conversation().User(prose).Assistant("Yes.").User("Hello")},
		{"an earlier answer", endpoint.Conversation().User("Hi").Assistant(prose).User("Hello")},
	} {
		n, _, err := count(c.r)
		var f *endpoint.Failure
		switch {
		case errors.As(err, &f) && (f.Kind == endpoint.Refused || f.Kind == endpoint.ServerFault):
			refused = append(refused, fmt.Sprintf("%s: status %d %s", c.what, f.Status, f.Said))
		case err != nil:
			return gates.Finding{}, err
		case n-base < words/2:
			lost = append(lost, fmt.Sprintf("%s of %d words: %d prompt tokens with it, %d without", c.what, words, n, base))
		}
	}
	f := gates.Pass("system message and history are counted, and the system message is heeded")
	switch {
	case len(lost) > 0:
		f = gates.Fail("the template drops a part of the conversation")
	case len(refused) > 0:
		f = gates.Warn("a conversation of usual form is refused")
	}
	if len(lost) == 0 && len(refused) == 0 {
		if unheeded, err := systemUnheeded(ctx, ep); err != nil || unheeded.Status() != 0 {
			return unheeded, err
		}
	}
	for _, l := range append(lost, refused...) {
		f = f.With("%s", l)
	}
	return f, nil
}

// systemUnheeded asks for a code that stands in the system message alone; no finding means
// that it came. It is held against nobody whose model does not give one back from the
// question itself.
func systemUnheeded(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	var said []string
	for range 2 {
		c := ep.Canaries().Issue()
		plant, question := secret(c)
		a, err := ep.Ask(ctx, endpoint.Conversation().System(plant).User(question).MaxTokens(256))
		if err != nil {
			return gates.Finding{}, err
		}
		if echo, _ := ep.Canaries().Judge(a.Visible(), c); echo == gates.Found {
			return gates.Finding{}, nil
		}
		said = append(said, "asked for "+c.String()+": "+a.Says())
	}
	x, err := secretTold(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	if echo, _ := ep.Canaries().Judge(x.answer.Visible(), x.canary); echo != gates.Found {
		return gates.Finding{}, nil
	}
	f := gates.Warn("a code in the system message is not given back, twice; in the question it is")
	for _, s := range said {
		f = f.With("%s", s)
	}
	return f.Because("the server puts instructions of its own there", "the model heeds no system message"), nil
}
