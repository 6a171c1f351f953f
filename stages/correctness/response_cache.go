package correctness

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/response-cache",
	Doc: `an answer is computed and not replayed

A gateway that keeps whole answers makes every repeat free: a benchmark that repeats prompts then measures the gateway, and a check that repeats a question
sees the first answer for ever. One request is put four times at a temperature at which nobody says the same twice; replays come with the same id,
the same words, at once. Requests that differ in one word show what a computed answer looks like.`,
	Since:  "0.3.0",
	Cost:   3 * time.Second,
	Modes:  []string{"DET-04", "IDN-06"},
	Faults: []string{"response-cache"},
	Causes: []string{"a gateway or proxy before the engine caches whole answers"},
	Next:   []string{"the engine's own port, without the gateway", "an option of the gateway that bypasses its cache, such as a Cache-Control header (headers in the configuration file)"},
	Run:    responseCache,
}, sizing{2, func(room) Work { return asks(8, 60, replayTokens) }})

const replayTokens = 64

func responseCache(ctx context.Context, ep Subject) (gates.Finding, error) {
	ask := func(prose string) (endpoint.Answer, error) {
		return ep.AskPlain(ctx, endpoint.Chat(prose+" Tell the beginning of a story about a lighthouse.").Temperature(1.3).Unseeded().MaxTokens(replayTokens))
	}
	var computed, repeats []endpoint.Answer
	for range 4 {
		a, err := ask(ep.fresh().Sentence())
		if err != nil {
			return gates.Finding{}, err
		}
		computed = append(computed, a)
	}
	same := ep.fresh().Sentence()
	for range 4 {
		a, err := ask(same)
		if err != nil {
			return gates.Finding{}, err
		}
		repeats = append(repeats, a)
	}
	slowest, ids, texts := time.Duration(0), map[string]bool{}, map[string]bool{}
	for _, a := range repeats[1:] {
		slowest = max(slowest, a.Timing.Ended)
	}
	for _, a := range repeats {
		texts[shown(a)] = true
		ids[a.ID] = true
	}
	quickest := repeats[0].Timing.Ended
	for _, a := range computed {
		quickest = min(quickest, a.Timing.Ended)
	}
	sameID := len(ids) == 1 && repeats[0].ID != "" && computed[0].ID != computed[1].ID
	sameText := len(texts) == 1 && len(shown(repeats[0])) >= 40 && shown(computed[0]) != shown(computed[1])
	instant := slowest*3 < quickest
	times := fmt.Sprintf("computed answers took %v and more, repeats %v and less", quickest.Round(time.Microsecond), slowest.Round(time.Microsecond))
	named := gates.Warn("whole answers are replayed from a cache before the engine")
	switch {
	case sameID && sameText:
		named = named.With("4 answers to one request at temperature 1.3 have one id and one text: %s", repeats[0].Says())
	case sameText && instant:
		named = named.With("4 answers to one request at temperature 1.3 have one text, and all but the first come at once: %s", repeats[0].Says())
	default:
		return gates.Pass("a repeated request is computed anew: %d texts in %d answers at temperature 1.3", len(texts), len(repeats)), nil
	}
	return named.With("%s", times).With("every figure of a load that repeats a prompt would be that of the cache; the prompts of infbench repeat nothing, so that its own figures are not"), nil
}
