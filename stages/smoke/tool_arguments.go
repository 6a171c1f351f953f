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

Parsers lose what they did not expect: a tool without parameters, a nested object, quotes and braces inside a text, two calls at once. What
breaks in a stream is asked for once more plain: where that is right the pieces were joined wrongly. What breaks in both may be the model, and is
only told.`,
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
	f := gates.Pass("%d of %d shapes arrived", whole, len(shapes))
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
	r := endpoint.Chat(s.ask(ep.Canaries().Issue())).Tool("list_records", "List records.", json.RawMessage(s.schema)).Choose("auto").MaxTokens(320)
	streamed, err := ep.Ask(ctx, r)
	if err != nil {
		return shapeOutcome{}, err
	}
	hard, soft := judgeShape(streamed, schema)
	switch {
	case hard != "":
		return shapeOutcome{hard: hard, said: streamed.Says()}, nil
	case soft == "" && len(streamed.Calls) < s.calls:
		return shapeOutcome{soft: fmt.Sprintf("%d calls, asked for %d", len(streamed.Calls), s.calls)}, nil
	case soft == "":
		return shapeOutcome{}, nil
	}
	// Is it the model, or the joining of the pieces?
	plain, err := ep.AskPlain(ctx, r)
	if err != nil {
		return shapeOutcome{}, err
	}
	if hardPlain, softPlain := judgeShape(plain, schema); hardPlain == "" && softPlain == "" && len(plain.Calls) > 0 && strings.HasPrefix(soft, notJSON) {
		return shapeOutcome{hard: "in a stream " + soft + ", and plain they are", said: streamed.Says()}, nil
	}
	return shapeOutcome{soft: soft}, nil
}

const notJSON = "the arguments are not JSON"

// judgeShape says what is wrong with the calls of an answer: what no server may do, and
// what may be the model's doing.
func judgeShape(a endpoint.Answer, schema *jsonschema.Schema) (hard, soft string) {
	for _, b := range a.Broke {
		if b.Hard {
			return b.What, ""
		}
	}
	ids := map[string]bool{}
	for _, call := range a.Calls {
		switch doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(call.Arguments))); {
		case err != nil && a.Finish == "length": // before its first byte, too
			soft = "the call ran to the token limit"
		case strings.TrimSpace(call.Arguments) == "" || strings.TrimSpace(call.Arguments) == "null":
			return fmt.Sprintf("the arguments are %s where an object is wanted", gates.Quote(call.Arguments, 20)), ""
		case err != nil:
			soft = notJSON + ": " + gates.Quote(call.Arguments, 100)
		case schema.Validate(doc) != nil:
			soft = "the arguments break the tool's schema: " + gates.Quote(call.Arguments, 100)
		}
		if call.ID != "" && ids[call.ID] {
			return "two calls of one answer have the id " + gates.Quote(call.ID, 40), ""
		}
		ids[call.ID] = true
	}
	if len(a.Calls) == 0 {
		soft = "no call"
	}
	return "", soft
}
