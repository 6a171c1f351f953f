package smoke

import (
	"context"
	"errors"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/tool-choice",
	Doc: `tool_choice is obeyed or refused: required, a named tool, none

Where the parser does not support the option it is read as "auto": an agent that demands a call gets prose, one that forbids it gets a call. A text
that no call is wanted for still streams, though a parser looks at it.
Asked only of a model that makes calls, which smoke/tool-call finds out; a refusal in words is fine. It warns: llama.cpp ignores "required" with some templates in good health.`,
	Since:  "0.2.0",
	Cost:   4200 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Tools},
	Modes:  []string{"TOOL-08", "TOOL-03", "TOOL-14"},
	Faults: []string{"tool-choice-ignored", "tools-buffered"},
	Causes: []string{"the tool parser does not support the option", "a gateway drops it"},
	Next:   []string{"the engine's notes on tool_choice for this parser", "guided decoding on"},
	Run:    toolChoice,
})

func toolChoice(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	// A question that wants no tool, so that a call is the option's doing.
	plain := func() endpoint.Request {
		plant, question := secret(ep.Canaries().Issue())
		return endpoint.Chat(plant+" "+question).Tool(toolName, "Look up a record by its key.", toolSchema).MaxTokens(96)
	}
	var notes []string
	for _, c := range []struct {
		choice string
		ask    func() endpoint.Request
		calls  bool
	}{
		{"required", func() endpoint.Request { return plain().Choose("required") }, true},
		{"the name of the tool", func() endpoint.Request { return plain().ChooseTool(toolName) }, true},
		{"none", func() endpoint.Request { return toolRequest(ep.Canaries().Issue()).Choose("none") }, false},
	} {
		wrong := 0
		var last endpoint.Answer
		for range 2 {
			a, err := ep.Ask(ctx, c.ask())
			var f *endpoint.Failure
			if errors.As(err, &f) && f.Kind == endpoint.Refused {
				notes = append(notes, "tool_choice "+c.choice+" is refused: "+f.Said)
				break
			}
			if err != nil {
				return gates.Finding{}, err
			}
			if (len(a.Calls) > 0) == c.calls {
				break
			}
			wrong, last = wrong+1, a
		}
		if wrong == 2 && c.calls && last.Finish == "length" {
			// It never came to its end, so nothing is known; a question that wants the tool may.
			r := toolRequest(ep.Canaries().Issue())
			if r = r.Choose("required"); c.choice != "required" {
				r = r.ChooseTool(toolName)
			}
			a, err := ep.Ask(ctx, r)
			if err != nil {
				return gates.Finding{}, err
			}
			if len(a.Calls) > 0 {
				notes = append(notes, "tool_choice "+c.choice+": over a question that wants no tool the answer ran to its limit; over one that does the call comes")
				continue
			}
		}
		if wrong == 2 {
			return gates.Warn("tool_choice %s is ignored, twice", c.choice).With("answered %s, finish_reason %s", last.Says(), gates.Quote(last.Finish, 20)), nil
		}
	}
	// No call is wanted here either, which the model has to see by itself.
	a, err := ep.Ask(ctx, plain().Choose("auto"))
	if err != nil {
		return gates.Finding{}, err
	}
	if len(a.Calls) > 0 {
		notes = append(notes, "auto: the model calls a tool that the question does not want")
	} else if held, err := heldBack(ctx, ep, a); err != nil || held {
		return gates.Warn("with tools in the request a text comes in one piece: something holds it back until it is whole").
			With("%d tokens, 1 event: %s", a.Usage.Completion.Or(0), a.Says()), err
	}
	f := gates.Pass("required, named and none are obeyed")
	if len(notes) > 0 {
		f = gates.Pass("obeyed as far as it can be told")
	}
	for _, n := range notes {
		f = f.With("%s", n)
	}
	return f, nil
}

// heldBack reports whether a text of several tokens came in one event where the same
// question without tools was streamed.
func heldBack(ctx context.Context, ep endpoint.Endpoint, a endpoint.Answer) (bool, error) {
	if n, ok := a.Usage.Completion.N(); !ok || n < 8 || len(a.Timing.Marks) != 1 {
		return false, nil
	}
	without, err := secretTold(ctx, ep)
	return err == nil && len(without.answer.Timing.Marks) > 3, err
}
