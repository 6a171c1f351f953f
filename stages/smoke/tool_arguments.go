package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/tool-arguments",
	Doc: `tool arguments of every shape arrive as the JSON that was made

Parsers lose what they did not expect: a tool without parameters, a nested object, quotes and braces inside a text, two calls at once. Each is asked
for streamed and plain; what breaks in both may be the model, what breaks in one mode or is no JSON at all is the server. Wrong values only warn.`,
	Since:  "0.2.0",
	Cost:   5 * time.Second,
	Needs:  []gates.Capability{endpoint.Tools},
	Modes:  []string{"TOOL-04", "TOOL-05", "TOOL-06", "TOOL-07", "TOOL-09", "TOOL-10", "TOOL-16"},
	Faults: []string{"tool-null-arguments", "tool-args-cut", "tool-wrong-index", "tool-same-id"},
	Causes: []string{"a tool parser that was made for one string argument", "the parser's streaming mode", "a grammar that does not close"},
	Next:   []string{"the same request without streaming", "another release of the tool parser"},
	Run:    toolArguments,
})

// A shape is one form of arguments: the tool, and the words that ask for the call.
type shape struct {
	name   string
	schema string
	ask    func(c gates.Canary) string
	calls  int
}

var shapes = []shape{
	{"no parameters", `{"type":"object","properties":{}}`, func(gates.Canary) string { return "Call list_records. It takes no arguments." }, 1},
	{
		"a nested object", `{"type":"object","properties":{"where":{"type":"object","properties":{"code":{"type":"string"},"limit":{"type":"integer"}},"required":["code","limit"]}},"required":["where"]}`,
		func(c gates.Canary) string {
			return `Call list_records with where set to an object with code "` + c.String() + `" and limit 3.`
		}, 1,
	},
	{
		"a text with quotes and braces", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		func(c gates.Canary) string {
			return "Call list_records with exactly this text:\n```\nif (x) { say(\"" + c.String() + "\"); }\n```"
		}, 1,
	},
	{
		"two calls at once", `{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`,
		func(c gates.Canary) string {
			return `Make two calls. Call list_records with key "` + c.String() + `". Call list_records with key "second".`
		}, 2,
	},
}

func toolArguments(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	var notes []string
	whole := 0
	for _, s := range shapes {
		v, err := shapeVerdict(ctx, ep, s)
		if err != nil {
			if f, refused := toolsRefused(ep, err); refused {
				return f, nil
			}
			return gates.Finding{}, err
		}
		switch {
		case v.hard != "":
			return gates.Fail("%s: %s", s.name, v.hard).With("%s", v.said), nil
		case v.soft != "":
			notes = append(notes, s.name+": "+v.soft)
		default:
			whole++
		}
	}
	if whole == 0 {
		return gates.Skip("the model made none of the %d calls as asked: this is beyond it", len(shapes)).With("%s", strings.Join(notes, "; ")), nil
	}
	f := gates.Pass("%d of %d shapes arrived, streamed and plain", whole, len(shapes))
	for _, n := range notes {
		f = f.With("%s", n)
	}
	return f, nil
}

type shapeOutcome struct{ hard, soft, said string }

func shapeVerdict(ctx context.Context, ep endpoint.Endpoint, s shape) (shapeOutcome, error) {
	schema, err := compile(json.RawMessage(s.schema))
	if err != nil {
		return shapeOutcome{}, err
	}
	c := ep.Canaries().Issue()
	r := endpoint.Chat(s.ask(c)).Tool("list_records", "List records.", json.RawMessage(s.schema)).Choose("auto").MaxTokens(320)
	streamed, err := ep.Ask(ctx, r)
	if err != nil {
		return shapeOutcome{}, err
	}
	plain, err := ep.AskPlain(ctx, r)
	if err != nil {
		return shapeOutcome{}, err
	}
	var wrong [2]string
	for i, a := range []endpoint.Answer{streamed, plain} {
		mode := [2]string{"streamed", "plain"}[i]
		for _, b := range a.Broke {
			if b.Hard {
				return shapeOutcome{hard: mode + ": " + b.What, said: a.Says()}, nil
			}
		}
		ids := map[string]bool{}
		for _, call := range a.Calls {
			switch doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(call.Arguments))); {
			case call.Arguments == "" || strings.TrimSpace(call.Arguments) == "null":
				return shapeOutcome{hard: fmt.Sprintf("%s: the arguments are %s where an object is wanted", mode, gates.Quote(call.Arguments, 20)), said: a.Says()}, nil
			case err != nil && a.Finish == "length":
				wrong[i] = "the call ran to the token limit"
			case err != nil:
				wrong[i] = "the arguments are not JSON: " + gates.Quote(call.Arguments, 100)
			case schema.Validate(doc) != nil:
				wrong[i] = "the arguments break the tool's schema: " + gates.Quote(call.Arguments, 100)
			}
			if call.ID != "" && ids[call.ID] {
				return shapeOutcome{hard: mode + ": two calls of one answer have the id " + gates.Quote(call.ID, 40), said: a.Says()}, nil
			}
			ids[call.ID] = true
		}
	}
	switch {
	case len(streamed.Calls) == 0 && len(plain.Calls) == 0:
		return shapeOutcome{soft: "no call"}, nil
	case (wrong[0] == "") != (wrong[1] == "") && len(streamed.Calls) > 0 && len(plain.Calls) > 0:
		i := 0
		if wrong[0] == "" {
			i = 1
		}
		if strings.HasPrefix(wrong[i], "the arguments are not JSON") {
			return shapeOutcome{hard: [2]string{"streamed", "plain"}[i] + " only: " + wrong[i], said: streamed.Says()}, nil
		}
		return shapeOutcome{soft: wrong[i]}, nil
	case wrong[0] != "":
		return shapeOutcome{soft: wrong[0]}, nil
	case len(streamed.Calls) < s.calls || len(plain.Calls) < s.calls:
		return shapeOutcome{soft: fmt.Sprintf("%d and %d calls, asked for %d", len(streamed.Calls), len(plain.Calls), s.calls)}, nil
	}
	return shapeOutcome{}, nil
}
