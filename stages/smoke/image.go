package smoke

import (
	"context"
	"errors"
	"image/color"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/image",
	Doc: `a server that takes pictures shows them to the model

A template or processor that drops the picture answers from the words alone, with status 200. The server's own count of prompt tokens tells a picture
that never arrived, whatever the model can see; the colours of two pictures are asked for besides. A server that refuses pictures has none.`,
	Since:  "0.2.0",
	Cost:   1200 * time.Millisecond,
	Modes:  []string{"TPL-05"},
	Faults: []string{"image-dropped", "image-stale"},
	Causes: []string{"the chat template has no place for pictures", "the vision part was not loaded (stage 0 counts its tensors)", "a picture cache keyed too coarsely"},
	Next:   []string{"infbench stage0 --checkpoint PATH", "the server's multimodal options"},
	Run:    picture,
})

func picture(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	const question = "What is the colour in the image?"
	counted := map[string]int{}
	seen := map[string]string{}
	for _, p := range []struct {
		name string
		c    color.RGBA
	}{{"red", color.RGBA{R: 220, A: 255}}, {"blue", color.RGBA{B: 220, A: 255}}} {
		a, err := ep.AskPlain(ctx, endpoint.Conversation().Picture(question, endpoint.Flat(p.c)).MaxTokens(48))
		var f *endpoint.Failure
		if errors.As(err, &f) && (f.Kind == endpoint.Refused || f.Status == 500 || f.Status == 501) {
			ep.FoundUnable(endpoint.Images, f.Said)
			return gates.NotApply("the server takes no pictures: %s", f.Said), nil
		}
		if err != nil {
			return gates.Finding{}, err
		}
		counted[p.name] = a.Usage.Prompt.Or(0)
		seen[p.name] = strings.ToLower(a.Visible())
	}
	words := ep.Complete(ctx, endpoint.Chat(question).MaxTokens(1))
	if err := words.Err(); err != nil {
		return gates.Finding{}, err
	}
	bare := words.Usage.Prompt.Or(0)
	saw := func(f gates.Finding) gates.Finding {
		return f.With("red: %s", gates.Quote(seen["red"], 80)).With("blue: %s", gates.Quote(seen["blue"], 80)).
			With("%d and %d prompt tokens with a picture, %d without", counted["red"], counted["blue"], bare)
	}
	red, blue := strings.Contains(seen["red"], "red"), strings.Contains(seen["blue"], "blue")
	switch {
	case bare > 0 && counted["red"] > 0 && counted["red"]-bare < 4:
		return saw(gates.Fail("the picture never reaches the model")), nil
	case red && strings.Contains(seen["blue"], "red") && !blue:
		return saw(gates.Fail("the second picture is answered as the first")), nil
	case red && blue:
		return gates.Pass("red and blue are told apart"), nil
	}
	return saw(gates.Skip("the model does not name the colours: this is beyond it")), nil
}
