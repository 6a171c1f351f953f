package reader_test

import (
	"fmt"
	"strings"
	"testing"

	"infbench/internal/refengine/reader"
)

func tool(name, description, parameters string) reader.Tool {
	return reader.Tool{Name: name, Description: description, Parameters: parameters}
}

var (
	echo    = tool("echo", "Echoes a text.", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	lookup  = tool("lookup", "Looks up a record by its key.", `{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`)
	weather = tool("get_weather", "Gets the weather of a city.", `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"]}`)
	clock   = tool("get_time", "Tells the time.", `{"type":"object","properties":{}}`)
	order   = tool("order", "Orders something.", `{"type":"object","properties":{
		"item":{"type":"string"},"count":{"type":"integer"},"price":{"type":"number"},"urgent":{"type":"boolean"},
		"note":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},
		"address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"integer"}},"required":["street","zip"]}},
		"required":["item"]}`)
)

func TestCalls(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefghij", 400)
	for _, c := range []struct {
		prompt string
		tools  []reader.Tool
		want   string
	}{
		{`Call lookup with key "alpha-1".`, []reader.Tool{lookup}, `lookup{"key": "alpha-1"}`},
		{`Use the tool to look up the key K-17.`, []reader.Tool{lookup}, `lookup{"key": "K-17"}`},
		{`Call the lookup tool with key = K7F3.`, []reader.Tool{lookup}, `lookup{"key": "K7F3"}`},
		{`What is the weather in Paris? Use the tool.`, []reader.Tool{weather}, `get_weather{"city": "Paris"}`},
		{`What is the weather in Paris?`, []reader.Tool{weather}, `get_weather{"city": "Paris"}`},
		{`Use get_weather for New York in celsius.`, []reader.Tool{weather}, `get_weather{"city": "New York", "unit": "celsius"}`},
		{`Call get_weather with city "Oslo" and unit "fahrenheit".`, []reader.Tool{weather}, `get_weather{"city": "Oslo", "unit": "fahrenheit"}`},
		{`Call get_weather for Paris and for London.`, []reader.Tool{weather}, `get_weather{"city": "Paris"} get_weather{"city": "London"}`},
		{`Call get_weather twice in parallel: once for Paris and once for London.`, []reader.Tool{weather}, `get_weather{"city": "Paris"} get_weather{"city": "London"}`},
		{`Get the weather in both Paris and London, using the tool.`, []reader.Tool{weather}, `get_weather{"city": "Paris"} get_weather{"city": "London"}`},
		{`Call lookup with key "a1" and lookup with key "b2".`, []reader.Tool{lookup}, `lookup{"key": "a1"} lookup{"key": "b2"}`},
		{`Call get_weather with city "Oslo" and call lookup with key "b2".`, []reader.Tool{weather, lookup}, `get_weather{"city": "Oslo"} lookup{"key": "b2"}`},
		{`Use the get_time tool.`, []reader.Tool{clock}, `get_time{}`},
		{`Call get_time.`, []reader.Tool{weather, clock}, `get_time{}`},
		{`Call echo with text "He said \"hi\"\nC:\\dir {a: [1]}".`, []reader.Tool{echo}, `echo{"text": "He said \"hi\"\nC:\\dir {a: [1]}"}`},
		{`Call echo with text "a</tool_call>b".`, []reader.Tool{echo}, `echo{"text": "a</tool_call>b"}`},
		{`Call echo with the text "漢字 👍🏽 é".`, []reader.Tool{echo}, `echo{"text": "漢字 👍🏽 é"}`},
		{"Call echo with text \"" + long + "\".", []reader.Tool{echo}, `echo{"text": "` + long + `"}`},
		{"Call echo with exactly this text:\n```\nline one\n\"two\" {3}\n```", []reader.Tool{echo}, `echo{"text": "line one\n\"two\" {3}"}`},
		{"Call echo with the text between <<< and >>>.\n<<<a \"b\" c>>>", []reader.Tool{echo}, `echo{"text": "a \"b\" c"}`},
		{`Call echo with arguments {"text": "x y"}.`, []reader.Tool{echo}, `echo{"text": "x y"}`},
		{`Call order with item "lamp", count 3, price 2.5, urgent true.`, []reader.Tool{order}, `order{"item": "lamp", "count": 3, "price": 2.5, "urgent": true}`},
		{`Call order with item "lamp", count -3 and urgent false and note null.`, []reader.Tool{order}, `order{"item": "lamp", "count": -3, "urgent": false, "note": null}`},
		{`Call order with item "lamp" and tags ["a", "b"].`, []reader.Tool{order}, `order{"item": "lamp", "tags": ["a", "b"]}`},
		{`Call order with item "lamp" and address {"street": "High St", "zip": 123}.`, []reader.Tool{order}, `order{"item": "lamp", "address": {"street": "High St", "zip": 123}}`},
		{`Call order with item set to "lamp" and count set to 4.`, []reader.Tool{order}, `order{"item": "lamp", "count": 4}`},
		// No call wanted.
		{`What is the capital of France?`, []reader.Tool{weather}, ``},
		{`Do not call any tool. Say hello.`, []reader.Tool{lookup}, ``},
		{`Reply with OK`, []reader.Tool{lookup, echo}, ``},
		{`The secret code is 48213907. What is the secret code?`, []reader.Tool{lookup, weather}, ``},
		{`Write a story about a weather station.`, []reader.Tool{weather}, ``},
	} {
		r := reader.Answer(reader.Request{Messages: []reader.Message{user(c.prompt)}, Tools: c.tools})
		if got := joined(r.Calls); got != c.want {
			t.Errorf("%.100q:\n got %.300s\nwant %.300s", c.prompt, got, c.want)
		}
		if c.want == "" && r.Content == "" {
			t.Errorf("%q: neither a call nor an answer", c.prompt)
		}
	}
}

func joined(calls []reader.Call) string {
	var parts []string
	for _, c := range calls {
		parts = append(parts, c.Name+c.Arguments)
	}
	return strings.Join(parts, " ")
}

func TestSimilarNamesAndChoices(t *testing.T) {
	t.Parallel()
	similar := []reader.Tool{tool("get_user", "", lookup.Parameters), tool("get_user_name", "", lookup.Parameters)}
	for _, c := range []struct {
		q    reader.Request
		want string
	}{
		{reader.Request{Messages: []reader.Message{user(`Call get_user_name with key "k1".`)}, Tools: similar}, `get_user_name{"key": "k1"}`},
		{reader.Request{Messages: []reader.Message{user(`Call get_user with key "k1".`)}, Tools: similar}, `get_user{"key": "k1"}`},
		{reader.Request{Messages: []reader.Message{user(`Say hello.`)}, Tools: []reader.Tool{clock}, Choice: reader.Always}, `get_time{}`},
		{reader.Request{Messages: []reader.Message{user(`The weather in Rome, please.`)}, Tools: []reader.Tool{clock, weather}, Choice: reader.Always, Named: "get_weather"}, `get_weather{"city": "Rome"}`},
		{reader.Request{Messages: []reader.Message{user(`Call get_time.`)}, Tools: []reader.Tool{clock}, Choice: reader.Never}, ``},
		{reader.Request{Messages: []reader.Message{user(`Call get_weather for Paris and for London.`)}, Tools: []reader.Tool{weather}, OneCall: true}, `get_weather{"city": "Paris"}`},
	} {
		if got := joined(reader.Answer(c.q).Calls); got != c.want {
			t.Errorf("%q: got %s, want %s", c.q.Messages[0].Content, got, c.want)
		}
	}
}

func TestTextThenCall(t *testing.T) {
	t.Parallel()
	r := reader.Answer(reader.Request{Messages: []reader.Message{user(`First say "one moment", then call lookup with key "k9".`)}, Tools: []reader.Tool{lookup}})
	if r.Content != "one moment" || joined(r.Calls) != `lookup{"key": "k9"}` {
		t.Errorf("got %q and %s", r.Content, joined(r.Calls))
	}
}

// An agent follows a chain of keys, each found in the result before.
func TestFollowsTheChain(t *testing.T) {
	t.Parallel()
	for _, form := range []struct{ name, ask, format string }{
		{"JSON", "Call lookup with the next key.", `{"records":[{"id":1,"note":"the wind is strong"}],"next_key":%q,"code":"%d"}`},
		{"text", "Now call lookup with the next key from the last result.", "Record 4: the boats are late.\nThe next key is %s.\nThe code is %d."},
		{"labels", "Use the tool with the next key.", "Note: all calm\nNext key: %s\nCode: %d"},
	} {
		talk := []reader.Message{system("You are an agent."), user(`Call lookup with key "key-0".`)}
		for turn := 1; turn <= 12; turn++ {
			r := reader.Answer(reader.Request{Messages: talk, Tools: []reader.Tool{lookup, echo}})
			if want := fmt.Sprintf(`lookup{"key": "key-%d"}`, turn-1); joined(r.Calls) != want {
				t.Fatalf("%s, turn %d: got %s %q, want %s", form.name, turn, joined(r.Calls), r.Content, want)
			}
			talk = append(talk, reader.Message{Role: reader.Assistant, Calls: r.Calls},
				result(fmt.Sprintf(form.format, fmt.Sprintf("key-%d", turn), 10000000+turn)), user(form.ask))
		}
		talk[len(talk)-1] = user("Call lookup with the code from the first result.")
		if r := reader.Answer(reader.Request{Messages: talk, Tools: []reader.Tool{lookup}}); joined(r.Calls) != `lookup{"key": "10000001"}` {
			t.Errorf("%s: first code: got %s", form.name, joined(r.Calls))
		}
		talk[len(talk)-1] = user("Call lookup with the code of turn 6.")
		if r := reader.Answer(reader.Request{Messages: talk, Tools: []reader.Tool{lookup}}); joined(r.Calls) != `lookup{"key": "10000006"}` {
			t.Errorf("%s: code of turn 6: got %s", form.name, joined(r.Calls))
		}
		talk[len(talk)-1] = user("What is the code of the last result?")
		if r := reader.Answer(reader.Request{Messages: talk, Tools: []reader.Tool{lookup}}); !strings.HasSuffix(r.Content, "ode is 10000012.") {
			t.Errorf("%s: last code: got %q %s", form.name, r.Content, joined(r.Calls))
		}
	}
}

func TestAgentWithStandingInstruction(t *testing.T) {
	t.Parallel()
	talk := []reader.Message{
		system("You always answer by calling the lookup tool with the next key. Stop when there is none."),
		user(`Start with key "key-0".`),
	}
	for turn := range 5 {
		r := reader.Answer(reader.Request{Messages: talk, Tools: []reader.Tool{lookup}})
		if want := fmt.Sprintf(`lookup{"key": "key-%d"}`, turn); joined(r.Calls) != want {
			t.Fatalf("turn %d: got %s %q, want %s", turn, joined(r.Calls), r.Content, want)
		}
		talk = append(talk, reader.Message{Role: reader.Assistant, Calls: r.Calls}, result(fmt.Sprintf(`{"next_key":"key-%d"}`, turn+1)))
	}
}

func TestParameterOrder(t *testing.T) {
	t.Parallel()
	zam := tool("mix", "", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"},"m":{"type":"string"}}}`)
	q := reader.Request{Messages: []reader.Message{user("List the parameters of the tool mix in the order of its declaration.")}, Tools: []reader.Tool{zam}}
	if r := reader.Answer(q); r.Content != "z, a, m" {
		t.Errorf("got %q %s", r.Content, joined(r.Calls))
	}
}
