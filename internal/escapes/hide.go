// Package escapes finds what stands in a text behind escapes of JSON.
//
// The one rule: nobody needs to know whether the text is JSON, or where it was cut.
package escapes

import (
	"bytes"
	"encoding/json"
	"strings"
)

// nested is how deep a text may stand in JSON inside JSON and still be looked at: the
// arguments of a call in a transcript are two deep.
const nested = 4

// Hide passes a text through the redactor, and before that what stands in it with escapes
// of JSON, which the redactor does not know.
func Hide(text string, redact func(string) string) string {
	return redact(hideIn(text, redact, nested))
}

// hideIn looks at what stands between any two quotes, be it a string of JSON or not: a text
// may begin inside one, hold a stray quote, or be cut before the end of the last.
func hideIn(text string, redact func(string) string, depth int) string {
	if depth == 0 || !strings.Contains(text, `\`) {
		return text // without escapes the text says what it holds
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		n := piece(rest)
		out.WriteString(hideEscaped(rest[:n], redact, depth))
		if rest = rest[n:]; rest != "" {
			out.WriteByte('"')
			rest = rest[1:]
		}
	}
	return out.String()
}

func hideEscaped(piece string, redact func(string) string, depth int) string {
	said := unescaped(piece)
	if said == piece {
		return piece
	}
	if hidden := redact(hideIn(said, redact, depth-1)); hidden != said {
		return quoted(hidden)
	}
	return piece
}

// piece returns the length of a text up to its first quote that is not escaped.
func piece(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// quoted writes a text as JSON, without escapes for HTML and without its quotes.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return b.String()[1 : b.Len()-2]
}
