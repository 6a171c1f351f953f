package faultproxy

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// Valid JSON stays valid, with the same keys and with strings as long as they were, in
// whatever pieces it comes.
func FuzzJSONStrings(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `[{"a b":["x","\"y\\","\u00e9"],"c":{"d":1.5e3,"e":null}},"",true]`, `"x"`, `{"a":"b`, `a "b" c`, `{"a\"":"\\"}`, `{"é":"漢字"}`} {
		f.Add(s, 2)
	}
	change := func(raw string) string {
		return scatter(raw, map[string]bool{"fixed": true}, func() string { return "жи" })
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if !utf8.ValidString(s) {
			return
		}
		n = min(max(n, 1), 64)
		always := func() bool { return true }
		one, many := &jsonStrings{meant: always, change: change}, &jsonStrings{meant: always, change: change}
		whole := one.feed(s) + one.rest()
		cut := ""
		for r := []rune(s); len(r) > 0; {
			k := min(n, len(r))
			cut += many.feed(string(r[:k]))
			r = r[k:]
		}
		if cut += many.rest(); cut != whole {
			t.Fatalf("in pieces %q, whole %q", cut, whole)
		}
		if utf8.RuneCountInString(whole) != utf8.RuneCountInString(s) {
			t.Fatalf("%q became %q", s, whole)
		}
		var was, now any
		if json.Unmarshal([]byte(s), &was) != nil {
			return
		}
		if err := json.Unmarshal([]byte(whole), &now); err != nil {
			t.Fatalf("%q became %q: %v", s, whole, err)
		}
		if !alikeJSON(was, now) {
			t.Fatalf("%q became %q", s, whole)
		}
	})
}

// alikeJSON: the same but for the text of strings.
func alikeJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, has := b[name]; !has || !alikeJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, v := range a {
			if !alikeJSON(v, b[i]) {
				return false
			}
		}
		return true
	case string:
		_, ok := b.(string)
		return ok
	}
	return a == b
}
