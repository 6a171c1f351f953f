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

Where the parser does not support the option it is read as "auto": an agent that demands a call gets prose, one that forbids it gets a call.
Asked only of a model that makes calls, which smoke/tool-call finds out; a refusal in words is fine. It warns: llama.cpp ignores "required" with some templates in good health.`,
	Since:  "0.2.0",
	Cost:   3600 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Tools},
	Modes:  []string{"TOOL-08", "TOOL-03"},
	Faults: []string{"tool-choice-ignored"},
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
		if wrong == 2 {
			return gates.Warn("tool_choice %s is ignored, twice", c.choice).With("answered %s, finish_reason %s", last.Says(), gates.Quote(last.Finish, 20)), nil
		}
	}
	f := gates.Pass("required, named and none are obeyed")
	if len(notes) > 0 {
		f = gates.Pass("obeyed where it is not refused")
	}
	for _, n := range notes {
		f = f.With("%s", n)
	}
	return f, nil
}
