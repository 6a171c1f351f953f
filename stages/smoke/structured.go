package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/structured",
	Doc: `an answer that must fit a JSON schema fits it

The option is taken and not enforced, with status 200; or the grammar allows blanks without end, and the answer is a brace and then line
breaks up to the limit. The prompt asks for prose, so that only the server can be the one who makes JSON of it.`,
	Since:  "0.2.0",
	Cost:   2200 * time.Millisecond,
	Modes:  []string{"STC-01", "STC-02", "STC-05", "STC-07"},
	Faults: []string{"schema-ignored", "json-blanks", "schema-ref-empty"},
	Causes: []string{"response_format is not known to this server or its template mode", "the grammar lets white space through", "no grammar back end is installed"},
	Next:   []string{"the server's option for guided decoding", "an option for compact JSON"},
	Run:    structured,
})

var recordSchema = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"},"colour":{"$ref":"#/$defs/colour"},` +
	`"count":{"type":"integer","minimum":1,"maximum":9}},"required":["code","colour","count"],"additionalProperties":false,` +
	`"$defs":{"colour":{"type":"string","enum":["red","green","blue"]}}}`)

// flatSchema is recordSchema without its reference, which not every grammar can follow.
var flatSchema = json.RawMessage(strings.Replace(string(recordSchema), `{"$ref":"#/$defs/colour"}`, `{"type":"string","enum":["red","green","blue"]}`, 1))

func structured(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	schema, err := compile(recordSchema)
	if err != nil {
		return gates.Finding{}, err
	}
	c := ep.Canaries().Issue()
	plant, _ := secret(c)
	var notes []string
	r := endpoint.Chat(plant + " Describe it in one plain sentence, without any braces.").MaxTokens(160)
	for _, side := range []struct {
		name string
		ask  func(context.Context, endpoint.Request) (endpoint.Answer, error)
		r    endpoint.Request
		fits *jsonschema.Schema
	}{
		{"json_schema", ep.Ask, r.JSONSchema("record", recordSchema), schema},
		{"json_object", ep.AskPlain, endpoint.Chat(plant + " Answer with a JSON object that holds the code.").MaxTokens(96).JSONObject(), nil},
	} {
		a, err := side.ask(ctx, side.r)
		if wrong := misfit(a, side.fits); side.fits != nil && wrong != "" && wrong != cutJSON {
			// Is it the reference, or schemas as such?
			flat, flatErr := side.ask(ctx, r.JSONSchema("record", flatSchema))
			switch said := misfit(flat, side.fits); {
			case flatErr == nil && said == "" && err == nil:
				return gates.Fail("a schema with a reference ($ref) is not kept to; without it the same schema is").With("answered %s, finish_reason %s", a.Says(), gates.Quote(a.Finish, 20)), nil
			case flatErr == nil && said == "" && endpoint.FateOf(err) == endpoint.Broken:
				return gates.Warn("a schema with a reference ($ref) breaks the answer; without it the same schema is kept to").With("%v", err), nil
			case flatErr == nil && said == "" && endpoint.FateOf(err) == endpoint.Declined:
				notes = append(notes, "a reference ($ref) in the schema is refused: "+err.Error())
				a, err = flat, nil
			}
		}
		var f *endpoint.Failure
		if errors.As(err, &f) && f.Kind == endpoint.Refused {
			return gates.Skip("the server refuses %s: %s", side.name, f.Said), nil
		}
		if err != nil {
			return gates.Finding{}, err
		}
		wrong := misfit(a, side.fits)
		if wrong == cutJSON && strings.HasPrefix(strings.TrimSpace(a.Content), "{") {
			notes = append(notes, side.name+": "+wrong)
			continue // the server held it to JSON; the model found no end
		}
		if wrong != "" {
			saw := gates.Fail("%s: %s", side.name, wrong)
			if a.Finish == "length" && side.fits == nil || side.fits == nil && !strings.HasPrefix(strings.TrimSpace(a.Content), "{") {
				saw = gates.Warn("%s: %s", side.name, wrong) // some servers only tell the model to write JSON
			}
			return saw.With("answered %s, finish_reason %s", a.Says(), gates.Quote(a.Finish, 20)), nil
		}
	}
	if len(notes) == 2 && strings.Contains(notes[0], cutJSON) && strings.Contains(notes[1], cutJSON) {
		return gates.Skip("the model finds no end in JSON: this is beyond it").With("%s", notes[0]), nil
	}
	f := gates.Pass("json_schema and json_object")
	for _, n := range notes {
		f = f.With("%s", n)
	}
	return f, nil
}

const cutJSON = "the JSON was cut at the limit"

// misfit says why an answer is not the wanted JSON, "" when it is.
func misfit(a endpoint.Answer, schema *jsonschema.Schema) string {
	text := strings.TrimSpace(a.Content)
	// Indented JSON is half white space, in short runs; a grammar that lets a model stay in
	// white space makes one run of it.
	if n := longestBlank(a.Content); n >= 80 {
		return fmt.Sprintf("%d white space characters stand in a row", n)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	switch {
	case err != nil && a.Finish == "length":
		return cutJSON
	case err != nil:
		return "the answer is no JSON"
	case schema == nil:
		if _, ok := v.(map[string]any); !ok {
			return "the answer is JSON, and no object"
		}
		return ""
	}
	if err := schema.Validate(v); err != nil {
		return "the JSON breaks the schema: " + gates.Printable(strings.ReplaceAll(err.Error(), "\n", " "), 160)
	}
	return ""
}

func compile(text json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// longestBlank returns the length of the longest run of white space, in bytes.
func longestBlank(s string) (longest int) {
	run := 0
	for _, b := range []byte(s) {
		switch b {
		case ' ', '\t', '\n', '\r':
			run++
			longest = max(longest, run)
		default:
			run = 0
		}
	}
	return longest
}
