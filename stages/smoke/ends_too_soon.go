package smoke

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/ends-too-soon",
	Doc: `a list is not ended after its first few entries

A wrong stop token or a stop string that the server adds itself ends answers early, with finish_reason stop: each is right as far as it goes. Only a
count that is the true one, breaks off before its half and ends by itself, twice and in two forms, is held against the server.`,
	Since:  "0.2.0",
	Cost:   1400 * time.Millisecond,
	Modes:  []string{"STP-02"},
	Faults: []string{"stops-early"},
	Causes: []string{"an end token that is an ordinary word's (a wrong id in generation_config.json or in the tokenizer)", "stop strings that the server or a gateway adds", "an end token out of damaged logits"},
	Next:   []string{"infbench stage0 --checkpoint PATH", "the same request with ignore_eos, where the engine has it"},
	Run:    endsTooSoon,
})

func endsTooSoon(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	x, err := counting(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	first := x.answer
	n, early := endsEarly(first, counted)
	if !early {
		return gates.Pass("the list ends with finish_reason %s after %d entries", gates.Quote(first.Finish, 20), n), nil
	}
	const second = 18
	again, err := ep.AskPlain(ctx, endpoint.Chat("Count from 1 to 18, separated by commas.").MaxTokens(96))
	if err != nil {
		return gates.Finding{}, err
	}
	m, early := endsEarly(again, second)
	if !early {
		return gates.Pass("the second of two lists goes on beyond its half: %d entries", m), nil
	}
	return gates.Fail("lists end by themselves after a few entries, twice").With("%d entries of %d: %s", n, counted, first.Says()).
		With("%d entries of %d: %s", m, second, again.Says()), nil
}

var number = regexp.MustCompile(`\d+`)

// endsEarly returns how many entries of the list from 1 to n an answer holds, and whether
// it ended by itself before the half of it without being another kind of answer.
func endsEarly(a endpoint.Answer, n int) (entries int, early bool) {
	var got []int
	for _, s := range number.FindAllString(a.Visible(), -1) {
		v, err := strconv.Atoi(s)
		if err != nil {
			return len(got), false
		}
		got = append(got, v)
	}
	counts := len(got) > 0 && !slices.ContainsFunc(got, func(v int) bool { return v > n })
	for i, v := range got {
		counts = counts && v == i+1
	}
	return len(got), counts && a.Finish == "stop" && len(got) < n/2
}
