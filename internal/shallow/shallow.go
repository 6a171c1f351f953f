// Package shallow reads JSON that anybody may have written. gjson's validator calls itself for
// each level, and a stack that overflows ends a Go program without a word: what nests deeper
// than any message does is taken for no JSON at all.
package shallow

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// Depth is how many levels JSON may have.
const Depth = 256

// Valid reports whether b is JSON of at most [Depth] levels.
func Valid(b []byte) bool { return Nests(b) && gjson.ValidBytes(b) }

// ValidString is Valid for a string.
func ValidString(s string) bool {
	if strings.Count(s, "{")+strings.Count(s, "[") <= Depth {
		return gjson.Valid(s)
	}
	return Valid([]byte(s))
}

// Nests reports whether a text, JSON or not, nests at most [Depth] levels.
func Nests(b []byte) bool {
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) <= Depth {
		return true // the usual case, at a fraction of the price
	}
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > Depth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}
