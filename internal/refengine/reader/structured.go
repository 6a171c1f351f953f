package reader

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// structured answers in JSON: after the schema if there is one that says anything.
func (c *conversation) structured(schema string) string {
	s := gjson.Parse(schema)
	if schema != "" && (typeOf(settle(s, s)) != "object" || settle(s, s).Get("properties").Exists()) {
		f := c.filler(c.last, s, schemaNames(s, s, 0))
		f.whole = true
		raw, _ := f.fill("", s, 0)
		return raw
	}
	if raw, ok := literalOf(c.last, '{'); ok {
		return compact(raw)
	}
	return c.freeObject()
}

// schemaNames lists the property names of a schema, nested ones included.
func schemaNames(root, s gjson.Result, depth int) []string {
	if depth > maxDepth {
		return nil
	}
	s = settle(root, s)
	var out []string
	for _, p := range properties(s) {
		out = append(out, p.name)
		out = append(out, schemaNames(root, p.schema, depth+1)...)
	}
	if items := s.Get("items"); items.Exists() {
		out = append(out, schemaNames(root, items, depth+1)...)
	}
	return out
}

var keyList = regexp.MustCompile("(?i)\\b(?:keys?|fields?|properties|property)\\b:? ((?:[\"'`]?\\w+[\"'`]?(?:, and |, | and )?)+)")

// freeObject makes an object with the keys that the message names, or with the
// answer under "answer".
func (c *conversation) freeObject() string {
	m := keyList.FindStringSubmatch(c.last)
	if m == nil {
		p := newProse(c.Origin)
		text := ""
		list, _ := c.errands()
		for _, e := range list {
			if n, ok := c.find(e.text); ok {
				text = n.value
			}
		}
		if text == "" {
			text = p.sentence()
		}
		return `{"answer": ` + scalar(text) + "}"
	}
	f := c.filler(c.last, gjson.Result{}, nil)
	f.whole = true
	var parts []string
	for _, key := range strings.FieldsFunc(strings.ReplaceAll(m[1], " and ", ","), func(r rune) bool { return strings.ContainsRune(", \"'`", r) }) {
		at, given := f.assigned(key)
		v, _ := f.str(key, at, given)
		parts = append(parts, jsonString(key)+": "+scalar(v))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// scalar writes a value as the JSON type it looks like.
func scalar(v string) string {
	if n := numberRE.FindString(v); n == v && v != "" && len(v) < 16 && gjson.Valid(v) {
		return v
	}
	if v == "true" || v == "false" || v == "null" {
		return v
	}
	return jsonString(v)
}
