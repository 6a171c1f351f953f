package smoke

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/known-answer",
	Doc: `a code stated in the prompt is given back

A garbled engine still streams tokens at full speed: NaN logits give one token for ever, missing scales give word salad, a wrong
template gives a generic greeting, and each comes with HTTP 200. Returning eight digits from one sentence needs no knowledge; the
smallest real models do it. Two longer forms (between eight sentences, two codes told apart) warn only, since they need some ability.`,
	Since: "0.1.0",
	Cost:  3 * time.Second,
	Modes: []string{"OUT-01", "OUT-02", "OUT-09", "OUT-12", "NUM-04", "TPL-03"},
	Faults: []string{
		"one-token", "salad", "greeting", "punctuation", "wrong-digit", "http500", "needle-loss",
	},
	Causes: []string{
		"NaN or infinite logits: fp16 overflow, a wrong kernel for this device, a bad all-reduce",
		"weights or scales that did not load (run stage 0 on the checkpoint)",
		"a wrong or missing chat template",
	},
	Next: []string{"infbench stage0 --checkpoint PATH", "the same server in eager mode, then with another kernel backend"},
	Run:  knownAnswer,
})

func knownAnswer(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	floor, found, err := knownFloor(ctx, ep)
	if err != nil || !found {
		return floor, err
	}
	ep.FoundRight()
	prose := endpoint.NewProse(1)
	own := ep.Canaries().Issue()
	plant, question := secret(own)
	long, err := ep.Ask(ctx, endpoint.Chat(prose.Sentences(4)+" "+plant+" "+prose.Sentences(4)+" "+question))
	if err != nil {
		return gates.Finding{}, err
	}
	longEcho, _ := ep.Canaries().Judge(long.Visible(), own)
	a, b := ep.Canaries().Issue(), ep.Canaries().Issue()
	told, err := ep.AskPlain(ctx, endpoint.Chat("The blue code is "+a.String()+". The red code is "+b.String()+". What is the red code?"))
	if err != nil {
		return gates.Finding{}, err
	}
	toldEcho, _ := ep.Canaries().Judge(told.Visible(), b, a)
	switch {
	case longEcho == gates.Foreign || toldEcho == gates.Foreign:
		return gates.Fail("an answer holds a code of another request").With("between sentences: %s", long.Says()).With("two codes: %s", told.Says()), nil
	case longEcho != gates.Found || toldEcho != gates.Found:
		return gates.Warn("the code comes back from one sentence, but not from a longer prompt").
			With("between eight sentences: %s, asked for %s", long.Says(), own).
			With("two codes told apart: %s, asked for %s", told.Says(), b).
			Because("the model is very small or has no chat template", "the context is cut or damaged beyond a few dozen tokens"), nil
	}
	return gates.Pass("3 of 3 codes given back"), nil
}

// knownFloor asks for a code from one sentence, streamed, and once more plain when
// that fails: wrong in two of two is a failure of the server, not of the model.
func knownFloor(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, bool, error) {
	var said []string
	fresh := func(ctx context.Context, ep endpoint.Endpoint) (exchange, error) {
		x := exchange{canary: ep.Canaries().Issue()}
		plant, question := secret(x.canary)
		var err error
		x.answer, err = ep.AskPlain(ctx, endpoint.Chat(plant+" "+question))
		return x, err
	}
	for _, ask := range []func(context.Context, endpoint.Endpoint) (exchange, error){secretTold, fresh} {
		x, err := ask(ctx, ep)
		if err != nil {
			return gates.Finding{}, false, err
		}
		c, got := x.canary, x.answer
		echo, seen := ep.Canaries().Judge(got.Visible(), c)
		switch {
		case echo == gates.Found:
			return gates.Finding{}, true, nil
		case echo == gates.Foreign:
			return gates.Fail("the answer holds %s, the code of another request", seen).With("asked for %s: %s", c, got.Says()), false, nil
		case got.UsedUpThinking():
			return gates.Warn("the token limit was used up by thinking before the answer").With("%s", got.Says()).
				Because("the model thinks longer than 8,192 tokens about one sentence"), false, nil
		}
		said = append(said, "asked for "+c.String()+", answered "+got.Says())
	}
	f := gates.Fail("a code stated in the same sentence was not given back, twice")
	for _, s := range said {
		f = f.With("%s", s)
	}
	return f, false, nil
}
