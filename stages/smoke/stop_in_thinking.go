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
	ID: "smoke/stop-in-thinking",
	Doc: `a stop string ends the answer, not the thinking before it

Where stop strings are looked for in the thinking too, a client that stops at a common word gets an empty reply with finish_reason stop. The string is
cut out of the model's own thinking. Asked only of models that were seen to think.`,
	Since:  "0.2.0",
	Cost:   1600 * time.Millisecond,
	Modes:  []string{"RSN-06"},
	Faults: []string{"stop-cuts-thinking"},
	Causes: []string{"the engine compares stop strings before the reasoning parser has run"},
	Next:   []string{"stop strings that cannot stand in a thought, or none"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		if why := ep.Unable(endpoint.Reasons); why != "" {
			return gates.NotApply("%s", why), nil
		}
		x, err := secretTold(ctx, ep)
		if err != nil {
			return gates.Finding{}, err
		}
		stop := wordOfThinking(x.answer)
		if stop == "" {
			return gates.NotApply("the thinking holds no word of its own"), nil
		}
		a, err := ep.Ask(ctx, x.asked.Stop(stop))
		var f *endpoint.Failure
		switch {
		case errors.As(err, &f) && f.Kind == endpoint.Refused:
			return gates.NotApply("the server refuses stop strings: %s", f.Said), nil
		case err != nil:
			return gates.Finding{}, err
		case strings.TrimSpace(a.Content) == "" && a.Finish == "stop" && !strings.Contains(a.Reasoning, stop) && len(a.Reasoning) < len(x.answer.Reasoning):
			return gates.Warn("the stop string %s ends the thinking, and no answer comes", gates.Quote(stop, 30)).
				With("with it: %s", gates.Quote(a.Reasoning, 160)).With("without: %s", gates.Quote(x.answer.Reasoning, 160)), nil
		}
		return gates.Pass("a stop string in the thinking leaves the answer whole"), nil
	},
})

// wordOfThinking returns a long word of the thinking's second half that the answer lacks.
func wordOfThinking(a endpoint.Answer) string {
	words := strings.Fields(a.Reasoning)
	for _, w := range words[len(words)/2:] {
		if w = strings.Trim(w, ".,:;!?\"'()"); len(w) >= 5 && !strings.Contains(a.Content, w) {
			return w
		}
	}
	return ""
}
