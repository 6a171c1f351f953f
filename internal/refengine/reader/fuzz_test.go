package reader_test

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"infbench/internal/refengine/reader"
)

// Whatever is said and whatever the schema, calls and structured answers are JSON,
// and the same conversation is answered the same way twice.
func FuzzAnswer(f *testing.F) {
	f.Add(`Call order with item "lamp", count 3 and note null.`, `{"next_key":"k"}`, order.Parameters)
	f.Add("Call echo with exactly this text:\n```\nx\n```", "The code is 5.", echo.Parameters)
	f.Add("Between the markers <a> and <b>. <a>x<b>", "a: b, c: d", `{"$ref":"#"}`)
	f.Add(`| a | b |`, `[1,{"x":[]}]`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"string","pattern":"^[0-9]{4}$"}]}},"required":["a"]}`)
	f.Add(`Return JSON with keys "a", b and c. (1 + 2) * 3 = ?`, `12 / 0 =`, `{"type":"array","items":{"type":"integer","minimum":3,"multipleOf":2},"minItems":3,"uniqueItems":true}`)
	f.Add("Sort: 3, 2, 1. Spell 'abc' backwards. Count from 9 to 1.", "x is ", `{"enum":[]}`)
	f.Fuzz(func(t *testing.T, said, result, schema string) {
		if !gjson.Valid(schema) || gjson.Get(schema, "..minItems").Int() > 100 || len(schema) > 500 {
			t.Skip()
		}
		q := reader.Request{
			Messages: []reader.Message{user("begin"), {Role: reader.ToolResult, Content: result}, user(said)},
			Tools:    []reader.Tool{{Name: "f", Parameters: schema}, lookup},
			Choice:   reader.Always, Thinks: true,
		}
		r := reader.Answer(q)
		if len(r.Calls) == 0 {
			t.Fatal("no call")
		}
		for _, c := range r.Calls {
			if !gjson.Valid(c.Arguments) || !gjson.Parse(c.Arguments).IsObject() {
				t.Fatalf("arguments %q", c.Arguments)
			}
		}
		q.Tools, q.Choice, q.Format = nil, reader.Auto, reader.Format{JSON: true, Schema: schema}
		if r = reader.Answer(q); !gjson.Valid(r.Content) {
			t.Fatalf("structured answer %q", r.Content)
		}
		q.Format = reader.Format{}
		if a, b := reader.Answer(q), reader.Answer(q); a.Content != b.Content || !reflect.DeepEqual(a.Calls, b.Calls) || a.Reasoning != b.Reasoning {
			t.Fatalf("two answers: %q and %q", a.Content, b.Content)
		}
	})
}
