package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// toolPrompt is a question with tools on offer, and whether a call is wanted.
type toolPrompt struct {
	wanted bool
	text   string
}

// Half of them want a call, and most of those say so. Those that do not are near: about
// the same things, or with the answer in them.
var toolPrompts = []toolPrompt{
	{true, "What is the weather in Oslo right now? Use a tool."},
	{false, "Write one sentence about the weather in autumn."},
	{true, "Convert 250 euros to US dollars. Look it up."},
	{false, "What is money? Answer in one sentence."},
	{true, "Put a meeting with Anna into my calendar for 2031-03-04 at 15. Call the right tool."},
	{false, "Say hello to Anna."},
	{true, "Is it raining in Lisbon today?"},
	{false, "Is rain made of water?"},
	{true, "How much are 40 Swiss francs in yen? Use the tool for it."},
	{false, "Spell the word franc."},
	{true, "Remind me of the dentist on 2031-06-12 at 9. Use a tool."},
	{false, "What does a dentist do?"},
	{true, "Tell me the temperature in Nairobi in Celsius. Look it up with a tool."},
	{false, "What is the difference between Celsius and Fahrenheit?"},
	{true, "Convert 1200 Japanese yen to pounds. Use the right function."},
	{false, "Name three currencies."},
	{true, "Add the concert on 2031-09-20 at 20 to my calendar. Call a tool for it."},
	{false, "What is a calendar for?"},
	{true, "Do I need an umbrella in Bergen today? Look up the weather."},
	{false, "Write a short rhyme about an umbrella."},
	{true, "What are 75 dollars in Norwegian kroner? Use a tool."},
	{false, "The exchange rate is 10. How much are 2 dollars in kroner?"},
	{true, "Book lunch with Tom on 2031-01-15 at 12 in my calendar. Use the given tool."},
	{false, "Suggest a dish for lunch."},
	{true, "How warm is it in Cairo at the moment?"},
	{false, "It is 30 degrees in Cairo. Is that warm?"},
	{true, "Change 15 pounds into euros for me. Call the right tool."},
	{false, "Translate to French: fifteen pounds."},
	{true, "Enter my flight on 2031-11-02 at 7 into the calendar. Use a function."},
	{false, "How do planes fly? One sentence."},
	{true, "Check the weather in Quito. Look it up."},
	{false, "In which country is Quito?"},
	{true, "Convert 99 Canadian dollars to Mexican pesos."},
	{false, "Count from 1 to 9."},
	{true, "Schedule a call with the bank on 2031-04-08 at 10. Use the right tool."},
	{false, "Thank you, that was all."},
}

var tools = []struct{ name, does, schema string }{
	{
		"get_weather", "Current weather of a city.",
		`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"],"additionalProperties":false}`,
	},
	{
		"convert_currency", "Convert an amount of money at today's rate.",
		`{"type":"object","properties":{"amount":{"type":"number"},"from":{"type":"string"},"to":{"type":"string"}},"required":["amount","from","to"],"additionalProperties":false}`,
	},
	{
		"add_event", "Add an event to the calendar.",
		`{"type":"object","properties":{"title":{"type":"string"},"date":{"type":"string"},"hour":{"type":"integer","minimum":0,"maximum":23}},"required":["title","date","hour"],"additionalProperties":false}`,
	},
}

// schemas are the tools' own, compiled.
var schemas = func() map[string]*jsonschema.Schema {
	out := map[string]*jsonschema.Schema{}
	for _, t := range tools {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(t.schema))
		c := jsonschema.NewCompiler()
		if err == nil {
			err = c.AddResource(t.name, doc)
		}
		if err == nil {
			out[t.name], err = c.Compile(t.name)
		}
		if err != nil {
			panic("parity: the schema of " + t.name + ": " + err.Error())
		}
	}
	return out
}()

// request asks the prompt with all tools on offer.
func (p toolPrompt) request() endpoint.Request {
	const room = 160 // tokens: for a call and then some
	r := endpoint.Chat(p.text).Choose("auto").MaxTokens(room)
	for _, t := range tools {
		r = r.Tool(t.name, t.does, json.RawMessage(t.schema))
	}
	return r
}

// judged says what came of a prompt with tools. As the vendors' verifiers have it, what
// counts for a call is the finish reason.
func judged(a endpoint.Answer) toolAnswer {
	out := toolAnswer{called: a.Finish == "tool_calls", said: gates.Printable(a.Says(), 200)}
	out.valid = out.called && len(a.Calls) > 0
	for _, c := range a.Calls {
		if why := misfit(c); why != "" && out.called {
			out.valid, out.said = false, gates.Printable(why, 200)
		}
	}
	return out
}

// misfit says what is wrong with a call, "" when nothing is.
func misfit(c endpoint.ToolCall) string {
	schema, ok := schemas[c.Name]
	if !ok {
		return "there is no tool " + gates.Quote(c.Name, 40)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(c.Arguments)))
	if err != nil {
		return "the arguments are no JSON: " + gates.Quote(c.Arguments, 100)
	}
	if schema.Validate(v) != nil {
		return fmt.Sprintf("the arguments of %s break its schema: %s", c.Name, gates.Quote(c.Arguments, 100))
	}
	return ""
}
