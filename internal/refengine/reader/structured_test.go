package reader_test

import (
	"testing"

	"infbench/internal/refengine/reader"
)

func TestStructured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prompt, schema, want string }{
		{
			"The secret code is 48213907. Return the secret code.",
			`{"type":"object","properties":{"secret_code":{"type":"string"}},"required":["secret_code"]}`,
			`{"secret_code": "48213907"}`,
		},
		{
			"The code is 5566 and the colour is blue. Fill in the form.",
			`{"type":"object","properties":{"colour":{"enum":["red","blue"]},"code":{"type":"integer","minimum":1,"maximum":100}},"required":["colour","code"]}`,
			`{"colour": "blue", "code": 100}`,
		},
		{
			"Describe a person. The name is Ada. The age is 36.",
			`{"$defs":{"p":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"nick":{"type":"string"}},"required":["name","age"]}},"type":"object","properties":{"person":{"$ref":"#/$defs/p"}},"required":["person"]}`,
			`{"person": {"name": "Ada", "age": 36}}`,
		},
		{
			"Give the tags: colours red, green and blue.",
			`{"type":"object","properties":{"colours":{"type":"array","items":{"type":"string"},"minItems":2}},"required":["colours"]}`,
			`{"colours": ["red", "green", "blue"]}`,
		},
		{`Reply with the JSON {"ok": true}.`, ``, `{"ok": true}`},
		{`The code is 77. Return a JSON object with the keys "code" and "name". The name is Ada.`, ``, `{"code": 77, "name": "Ada"}`},
		{"The code is 48213907. What is the code?", `{"type":"object"}`, `{"answer": 48213907}`},
	} {
		r := reader.Answer(reader.Request{
			Messages: []reader.Message{user(c.prompt)},
			Format:   reader.Format{JSON: true, Schema: c.schema},
		})
		if r.Content != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.prompt, r.Content, c.want)
		}
	}
}
