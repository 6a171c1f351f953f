package reader

import (
	"strings"

	"github.com/tidwall/gjson"
)

// A parameter is a property of an object schema.
type parameter struct {
	name     string
	schema   gjson.Result
	required bool
}

// parameters lists the properties of an object schema in the order they are
// declared.
func parameters(schema string) []parameter {
	return properties(gjson.Parse(schema))
}

func properties(schema gjson.Result) []parameter {
	required := make(map[string]bool)
	for _, r := range schema.Get("required").Array() {
		required[r.Str] = true
	}
	var out []parameter
	schema.Get("properties").ForEach(func(k, v gjson.Result) bool {
		out = append(out, parameter{k.Str, v, required[k.Str]})
		return true
	})
	return out
}

// maxDepth ends recursive schemas: below it only what is required is filled.
const maxDepth = 6

// settle follows references and chooses among alternatives until the schema says
// what it wants.
func settle(root, s gjson.Result) gjson.Result {
	for range 16 { // more hops are a circle
		switch {
		case s.Get("$ref").Exists():
			s = pointer(root, s.Get("$ref").Str)
		case s.Get("allOf.0").Exists():
			s = s.Get("allOf.0")
		case s.Get("anyOf.0").Exists():
			s = firstSolid(s.Get("anyOf"))
		case s.Get("oneOf.0").Exists():
			s = firstSolid(s.Get("oneOf"))
		default:
			return s
		}
	}
	return s
}

// pointer resolves "#/$defs/name".
func pointer(root gjson.Result, ref string) gjson.Result {
	v := root
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := gjson.Result{}
		v.ForEach(func(k, item gjson.Result) bool {
			if k.Str == step {
				next = item
				return false
			}
			return true
		})
		v = next
	}
	return v
}

// firstSolid chooses the first alternative that is not null.
func firstSolid(list gjson.Result) gjson.Result {
	all := list.Array()
	for _, s := range all {
		if s.Get("type").Str != "null" {
			return s
		}
	}
	return all[0]
}

// nullable says whether null satisfies the schema.
func nullable(root, s gjson.Result) bool {
	if strings.HasPrefix(s.Get("$ref").Str, "#") {
		s = pointer(root, s.Get("$ref").Str)
	}
	for _, path := range []string{"anyOf.#.type", "oneOf.#.type"} {
		for _, t := range s.Get(path).Array() {
			if t.Str == "null" {
				return true
			}
		}
	}
	t := s.Get("type")
	if t.IsArray() {
		for _, one := range t.Array() {
			if one.Str == "null" {
				return true
			}
		}
	}
	return t.Str == "null"
}

// typeOf returns the type a schema asks for.
func typeOf(s gjson.Result) string {
	t := s.Get("type")
	if t.IsArray() {
		for _, one := range t.Array() {
			if one.Str != "null" {
				return one.Str
			}
		}
	}
	switch {
	case t.Str != "":
		return t.Str
	case s.Get("properties").Exists():
		return "object"
	case s.Get("items").Exists():
		return "array"
	}
	return "string"
}
