package faultproxy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

var _ = register(fault{
	Info: Info{
		ID: "tool-sorted", Stage: 3, Modes: []string{"TOOL-13"},
		Doc: "the model sees the properties of a tool's schema in alphabetical order",
	},
	build: always(acts{request: func(x *exchange) {
		if x.fields["tools"] == nil {
			return
		}
		was := encode(x.fields["tools"])
		if now := sortProperties(was, false); !bytes.Equal(was, now) {
			x.set("tools", json.RawMessage(now))
		}
	}}),
})

// sortProperties orders what stands in properties, at any depth, and nothing else.
// inside says that v is such an object itself.
func sortProperties(v []byte, inside bool) []byte {
	d := json.NewDecoder(bytes.NewReader(v))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return v
	}
	type member struct{ name, text string }
	var list []member
	for d.More() {
		var m member
		if open == json.Delim('{') {
			name, _ := d.Token()
			m.name, _ = name.(string)
			m.text = string(encode(m.name)) + ":"
		}
		var value json.RawMessage
		_ = d.Decode(&value) // v has been decoded before
		m.text += string(sortProperties(value, !inside && m.name == "properties"))
		list = append(list, m)
	}
	if inside {
		slices.SortStableFunc(list, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.text
	}
	ends := [2]string{"[", "]"}
	if open == json.Delim('{') {
		ends = [2]string{"{", "}"}
	}
	return []byte(ends[0] + strings.Join(texts, ",") + ends[1])
}
