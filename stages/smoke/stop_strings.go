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
	ID: "smoke/stop-strings",
	Doc: `a stop string ends the answer before it, and nothing of it leaks

Agents and templates rely on stop strings; where they are ignored an answer runs on into the next turn, and where the server holds nothing
back a part of the string stands in the stream. The string is cut out of the model's own answer, so that it is sure to come.`,
	Since:  "0.2.0",
	Cost:   1500 * time.Millisecond,
	Modes:  []string{"STP-05", "STP-06"},
	Faults: []string{"stop-ignored", "stop-leaks", "stop-refused"},
	Causes: []string{"the field is dropped on the way", "the server looks for the string in single tokens", "a stream is sent before it is compared with the string"},
	Next:   []string{"the same request without streaming"},
	Run:    stopStrings,
})

func stopStrings(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	x, err := counting(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	r, free := x.asked, x.answer
	stop, before := stopIn(free)
	if stop == "" { // some models write one digit after another
		r = endpoint.Chat("Write one sentence about the sea.").MaxTokens(24)
		if free, err = ep.Ask(ctx, r); err != nil {
			return gates.Finding{}, err
		}
		stop, before = stopIn(free)
	}
	if stop == "" {
		return gates.Skip("the answer holds no string that could be stopped at").With("answered %s", free.Says()), nil
	}
	for _, side := range []struct {
		name string
		ask  func(context.Context, endpoint.Request) (endpoint.Answer, error)
	}{{"streamed", ep.Ask}, {"plain", ep.AskPlain}} {
		a, err := side.ask(ctx, r.Stop(stop))
		var f *endpoint.Failure
		if errors.As(err, &f) && f.Kind == endpoint.Refused {
			return gates.Warn("the server refuses stop strings: %s", f.Said), nil
		}
		if err != nil {
			return gates.Finding{}, err
		}
		saw := func(f gates.Finding) gates.Finding {
			return f.With("%s: %s, finish_reason %s", side.name, a.Says(), gates.Quote(a.Finish, 20)).With("stop string %s, without it %s", gates.Quote(stop, 20), free.Says())
		}
		text := strings.TrimRight(a.Content, " \n")
		switch {
		case strings.Contains(strings.TrimSuffix(a.Content, stop), stop), len(text) > len(before)+2*len(stop) && strings.HasPrefix(text, before):
			return saw(gates.Fail("the stop string is ignored")), nil
		case strings.HasSuffix(a.Content, stop):
			return saw(gates.Warn("the answer ends with the stop string itself")), nil
		case leaks(a.Content, before, stop):
			return saw(gates.Warn("a part of the stop string stands at the end of the answer")), nil
		case a.Finish != "stop":
			return saw(gates.Warn("the answer was stopped, and says finish_reason %s", gates.Quote(a.Finish, 20))), nil
		}
	}
	return gates.Pass("stopped before %s, streamed and plain", gates.Quote(stop, 20)), nil
}

// stopIn returns a string from the middle of the answer that occurs once, and what stands
// before it. It must not occur in the thinking, which some servers stop as well.
func stopIn(a endpoint.Answer) (stop, before string) {
	text := []rune(a.Content)
	const length = 4
	for i := len(text) / 3; i+length < len(text); i++ {
		s := string(text[i : i+length])
		if strings.TrimSpace(s) == s && strings.Count(a.Content, s) == 1 && !strings.Contains(a.Reasoning, s) {
			return s, string(text[:i])
		}
	}
	return "", ""
}

// leaks reports whether an answer is what stands before the stop string and then a part
// of it.
func leaks(text, before, stop string) bool {
	rest, ok := strings.CutPrefix(text, before)
	return ok && rest != "" && strings.HasPrefix(stop, rest)
}
