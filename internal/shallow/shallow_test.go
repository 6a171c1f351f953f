package shallow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"infbench/internal/shallow"
)

func TestValid(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, want := range map[string]bool{
		`{"a":[1,"[[["]}`:                       true,
		`{"a":`:                                 false,
		``:                                      false,
		nested(shallow.Depth):                   true,
		nested(shallow.Depth + 1):               false,
		`"` + strings.Repeat("[", 9999) + `"`:   true,
		`"\"` + strings.Repeat("{", 9999) + `"`: true,
		"[" + strings.Repeat("[],", 9999) + "[]]":      true, // many, and none within another
		strings.Repeat("[", 8_000_000):                 false,
		strings.Repeat(`{"a":`, 2_000_000):             false,
		`{"a":` + nested(shallow.Depth) + `,"b":true}`: false,
	} {
		if got := shallow.Valid([]byte(text)); got != want {
			t.Errorf("%.40q of %d bytes: %t", text, len(text), got)
		}
		if got := shallow.ValidString(text); got != want {
			t.Errorf("the string %.40q of %d bytes: %t", text, len(text), got)
		}
	}
}

// Whatever is let through is JSON to the standard library too.
func FuzzValid(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `[[[`, `"\\"`, `{"a":"\"["}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if shallow.Valid(b) && !json.Valid(b) {
			t.Errorf("%q is no JSON", b)
		}
	})
}
