package smoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/tool-call",
	Doc: `a tool call is parsed, streamed and plain

The parser is missing or another family's, and the call stands as text in the content; streamed pieces do not join to JSON; the reply
ends with "stop" and agents never run the tool. A template that drops the tools is warned of: the model may not be made for them. A model
that makes no well-formed call at all is skipped: that is ability, not the engine.`,
	Since:  "0.1.0",
	Cost:   3500 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Tools},
	Modes:  []string{"TOOL-01", "TOOL-02", "TOOL-03", "TOOL-04", "TOOL-06", "TOOL-07", "TOOL-12", "TOOL-17", "TPL-05", "TPL-06"},
	Faults: []string{"tool-as-text", "tool-args-cut", "tool-finish-stop", "tools-dropped", "tool-no-id", "malformed-call", "call-in-reasoning", "call-runs-on", "hidden-system"},
	Causes: []string{"no tool parser, or another model family's", "the parser loses pieces when streamed", "the chat template knows no tools"},
	Next:   []string{"the server's tool-call-parser option for this model family", "the same request without streaming"},
	Run:    toolCall,
})

const toolName = "lookup_record"

var toolSchema = json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","description":"the key of the record"}},"required":["key"],"additionalProperties":false}`)

func toolRequest(c gates.Canary) endpoint.Request {
	return endpoint.Chat("Call "+toolName+" with key \""+c.String()+"\".").
		Tool(toolName, "Look up a record by its key.", toolSchema).Choose("auto").MaxTokens(256)
}

func toolCall(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	c := ep.Canaries().Issue()
	streamed, err := ep.Ask(ctx, toolRequest(c))
	if f, refused := toolsRefused(ep, err); refused {
		return f, nil
	}
	if err != nil {
		return gates.Finding{}, err
	}
	added, known, err := ep.AddedTokens(ctx, streamed, endpoint.Chat("Call "+toolName+" with key \"00000000\"."))
	switch {
	case err != nil:
		return gates.Finding{}, err
	case known && added < endpoint.ToolTokens && len(streamed.Calls) == 0:
		p := streamed.Usage.Prompt.Or(0)
		return gates.Warn("the tool never reaches the model: the prompt has %d tokens with it and %d without", p, p-added).With("answered %s", streamed.Says()), nil
	}
	plain, err := ep.AskPlain(ctx, toolRequest(c))
	if err != nil {
		return gates.Finding{}, err
	}
	if len(streamed.Calls) == 0 && len(plain.Calls) == 0 {
		return noCall(ctx, ep, streamed, c)
	}
	if len(streamed.Calls) == 0 { // once more: a model may call now and not then
		if streamed, err = ep.Ask(ctx, toolRequest(c)); err != nil {
			return gates.Finding{}, err
		}
	} else if len(plain.Calls) == 0 {
		if plain, err = ep.AskPlain(ctx, toolRequest(c)); err != nil {
			return gates.Finding{}, err
		}
	}
	if (len(streamed.Calls) == 0) != (len(plain.Calls) == 0) {
		return gates.Fail("a call is parsed in one mode only").With("streamed: %s", streamed.Says()).With("plain: %s", plain.Says()), nil
	}
	var soft []string
	for _, side := range []struct {
		name string
		a    endpoint.Answer
	}{{"streamed", streamed}, {"plain", plain}} {
		hard, mild := judgeCall(side.a, c)
		if hard != "" {
			return gates.Fail("%s: %s", side.name, hard).With("%s", side.a.Says()).With("finish_reason %s", gates.Quote(side.a.Finish, 20)), nil
		}
		for _, b := range side.a.Broke {
			if b.Hard {
				return gates.Fail("%s: %s", side.name, b.What).With("%s", side.a.Says()), nil
			}
			mild = append(mild, b.What)
		}
		for _, m := range mild {
			soft = append(soft, side.name+": "+m)
		}
	}
	if known && added > mostToolTokens {
		soft = append(soft, fmt.Sprintf("one small tool adds %d tokens to the prompt: something writes instructions of its own", added))
	}
	if len(soft) > 0 {
		f := gates.Warn("the call is parsed, with a reservation")
		for _, s := range soft {
			f = f.With("%s", s)
		}
		return f, nil
	}
	return gates.Pass("parsed streamed and plain, with the right argument"), nil
}

// toolsRefused tells a server that says that it has no tools from one that broke.
func toolsRefused(ep endpoint.Endpoint, err error) (gates.Finding, bool) {
	var f *endpoint.Failure
	if errors.As(err, &f) && f.Status >= 400 && f.Status < 500 && f.Kind == endpoint.Refused {
		why := "the server refuses requests with tools: " + f.Said
		ep.FoundUnable(endpoint.Tools, why)
		return gates.Skip("%s", why), true
	}
	return gates.Finding{}, false
}

// mostToolTokens is more than the templates of the known models add around one small
// tool, the longest instructions included.
const mostToolTokens = 700

// judgeCall judges one answer that holds a call.
func judgeCall(a endpoint.Answer, c gates.Canary) (hard string, soft []string) {
	call := a.Calls[0]
	var args map[string]json.RawMessage
	switch {
	case len(a.Calls) > 16:
		return "one request, " + gates.Printable(call.Name, 40) + " called more than 16 times", nil
	case call.Name != toolName:
		return "the call names " + gates.Quote(call.Name, 60) + ", which was not on offer", nil
	case json.Unmarshal([]byte(call.Arguments), &args) != nil && a.Finish == "length":
		return "", []string{"the call ran to the token limit"} // which may be the model's doing
	case json.Unmarshal([]byte(call.Arguments), &args) != nil:
		return "the arguments are not JSON: " + gates.Quote(call.Arguments, 120), nil
	case a.Finish != "tool_calls":
		return "the call is there, and finish_reason is " + gates.Quote(a.Finish, 20) + ": an agent would not run it", nil
	}
	if call.ID == "" {
		soft = append(soft, "the call has no id")
	}
	if !strings.Contains(string(args["key"]), c.String()) {
		soft = append(soft, "the argument is "+gates.Printable(call.Arguments, 80)+", asked for "+c.String())
	}
	if slices.ContainsFunc(gates.Degenerate(a.Content, gates.TextContext{}), func(s gates.Symptom) bool { return s.ID == "D10" }) {
		return "a control marker leaks into the content beside the call", nil
	}
	return "", soft
}

// callAsText finds a call that stands in the content as well-formed text: the model
// did its part and the parser did not.
var callAsText = regexp.MustCompile(`(?s)\{\s*"(name|function)"\s*:.*\}`)

func noCall(ctx context.Context, ep endpoint.Endpoint, a endpoint.Answer, c gates.Canary) (gates.Finding, error) {
	if text := callAsText.FindString(a.Content + a.Reasoning); text != "" {
		var call struct{ Name, Function string }
		if json.NewDecoder(strings.NewReader(text)).Decode(&call) == nil && (call.Name == toolName || call.Function == toolName) {
			where := "content"
			if callAsText.FindString(a.Content) == "" {
				where = "thinking"
			}
			return gates.Fail("the call stands as text in the %s: the parser did not see it", where).With("%s", a.Says()), nil
		}
	}
	forced, err := ep.Ask(ctx, toolRequest(c).Choose("required"))
	if err != nil {
		if f, refused := toolsRefused(ep, err); refused {
			return f, nil
		}
		return gates.Finding{}, err
	}
	if len(forced.Calls) > 0 {
		if hard, _ := judgeCall(forced, c); hard != "" && forced.Finish != "stop" {
			return gates.Fail("forced by tool_choice required: %s", hard).With("%s", forced.Says()), nil
		}
		return gates.Warn("the model calls the tool only when tool_choice requires it").With("auto: %s", a.Says()), nil
	}
	ep.FoundUnable(endpoint.Tools, "the model makes no tool call, not even with tool_choice required")
	return gates.Skip("the model makes no tool call, not even when one is required: this is beyond it, or its template").With("auto: %s", a.Says()).
		With("required: %s", forced.Says()), nil
}
