package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/message-shapes",
	Doc: `the forms of messages that clients send are taken, or refused in words

An agent's history holds assistant messages with a call and null content, tool results, a second system message, content in parts. A chat template that
raises an exception over them ends every such conversation in status 500. A clear refusal is the template's right.`,
	Since:  "0.2.0",
	Cost:   500 * time.Millisecond,
	Modes:  []string{"TPL-07"},
	Faults: []string{"shapes-refused"},
	Causes: []string{"the chat template raises an exception, and the server reports it as its own failure", "the template adds strings and null"},
	Next:   []string{"the server's log around this request", "a later chat template of the model"},
	Run:    messageShapes,
})

// messageForms are conversations as clients send them, which go-openai's types cannot all
// write.
var messageForms = []struct{ name, messages, tools string }{
	{
		"a call with null content and its result",
		`[{"role":"user","content":"Look up record 7."},
		  {"role":"assistant","content":null,"tool_calls":[{"id":"call_00000001","type":"function","function":{"name":"lookup_record","arguments":"{\"key\":\"7\"}"}}]},
		  {"role":"tool","tool_call_id":"call_00000001","content":"the record is empty"}]`,
		`[{"type":"function","function":{"name":"lookup_record","description":"Look up a record by its key.","parameters":` + string(toolSchema) + `}}]`,
	},
	{"two system messages", `[{"role":"system","content":"Be brief."},{"role":"system","content":"Be exact."},{"role":"user","content":"Hello"}]`, ""},
	{"content in parts", `[{"role":"user","content":[{"type":"text","text":"Hello"},{"type":"text","text":"there"}]}]`, ""},
}

func messageShapes(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	name, err := json.Marshal(ep.Model())
	if err != nil {
		return gates.Finding{}, err
	}
	var broken, refused []string
	for _, f := range messageForms {
		body := fmt.Sprintf(`{"model":%s,"messages":%s,"temperature":0,"top_p":1,"max_tokens":1,"stream":false`, name, f.messages)
		if f.tools != "" {
			body += `,"tools":` + f.tools
		}
		status, said, err := ep.Post(ctx, body+"}")
		switch {
		case err != nil:
			return gates.Finding{}, err
		case turnedAway(status):
			return gates.Skip("%s: the server turns it away with status %d, %s", f.name, status, gates.Quote(string(said), 120)), nil
		case status >= 500:
			broken = append(broken, fmt.Sprintf("%s: status %d, %s", f.name, status, gates.Quote(string(said), 120)))
		case status >= 400:
			refused = append(refused, fmt.Sprintf("%s: status %d, %s", f.name, status, gates.Quote(string(said), 120)))
		case !gjson.GetBytes(said, "choices.0").Exists():
			broken = append(broken, fmt.Sprintf("%s: status %d without a choice, %s", f.name, status, gates.Quote(string(said), 120)))
		}
	}
	f := gates.Pass("%d forms are taken", len(messageForms)-len(refused))
	if len(broken) > 0 {
		f = gates.Warn("a conversation of usual form breaks the server's answer")
	}
	for _, s := range append(broken, refused...) {
		f = f.With("%s", s)
	}
	return f, nil
}
