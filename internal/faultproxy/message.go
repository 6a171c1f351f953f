package faultproxy

import (
	"encoding/json"
	"strings"
)

// A message is one of the request's, its fields as written.
type message map[string]json.RawMessage

func (x *exchange) messages() []message {
	var list []message
	_ = json.Unmarshal(x.fields["messages"], &list)
	return list
}

func (m message) role() string {
	var s string
	_ = json.Unmarshal(m["role"], &s)
	return s
}

// instructs: a system message under either of its names.
func (m message) instructs() bool { return m.role() == "system" || m.role() == "developer" }

// text joins the text parts of the content.
func (m message) text() string {
	var s string
	if json.Unmarshal(m["content"], &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(m["content"], &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (m message) setText(s string) { m["content"] = encode(s) }
