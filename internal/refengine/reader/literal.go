package reader

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"infbench/internal/shallow"
)

// A span is a literal found in a text: its value and where it stands.
type span struct {
	value      string
	start, end int
}

// quotes returns the quoted texts of s, fenced blocks and <<<…>>> included, in
// order.
func quotes(s string) []span {
	var out []span
	for i := 0; i < len(s); {
		if v, n, ok := quotedAt(s, i); ok {
			out = append(out, span{v, i, i + n})
			i += n
			continue
		}
		i++
	}
	return out
}

// quotedAt reads the quoted text that begins at s[i], if one does.
func quotedAt(s string, i int) (value string, size int, ok bool) {
	t := s[i:]
	for _, m := range []struct{ open, shut string }{{"```", "```"}, {"<<<", ">>>"}, {"“", "”"}, {"«", "»"}} {
		if inner, found := strings.CutPrefix(t, m.open); found {
			end := strings.Index(inner, m.shut)
			if end < 0 {
				return "", 0, false
			}
			return fenced(inner[:end], m.open), len(m.open) + end + len(m.shut), true
		}
	}
	switch t[0] {
	case '"':
		return doubleQuoted(t)
	case '`', '\'':
		if i > 0 && (unicode.IsLetter(rune(s[i-1])) || unicode.IsDigit(rune(s[i-1]))) {
			return "", 0, false // an apostrophe
		}
		if end := strings.IndexByte(t[1:], t[0]); end > 0 {
			return t[1 : 1+end], end + 2, true
		}
	}
	return "", 0, false
}

// fenced drops the language tag and the line breaks next to the marks of a block.
func fenced(s, open string) string {
	if first, rest, ok := strings.Cut(s, "\n"); ok && !strings.Contains(strings.TrimSpace(first), " ") && (open == "```" || strings.TrimSpace(first) == "") {
		s = strings.TrimSuffix(rest, "\n")
	}
	return s
}

// doubleQuoted reads a text in double quotes. When it is a JSON string with escapes
// it means what JSON says; otherwise it is taken as it stands.
func doubleQuoted(t string) (value string, size int, ok bool) {
	for i := 1; i < len(t); i++ {
		switch t[i] {
		case '\\':
			i++
		case '"':
			if lit := t[:i+1]; strings.Contains(lit, `\`) {
				var v string
				if json.Unmarshal([]byte(strings.ReplaceAll(lit, "\n", `\n`)), &v) == nil {
					return v, i + 1, true
				}
				end := strings.IndexByte(t[1:], '"')
				return t[1 : 1+end], end + 2, true
			}
			return t[1:i], i + 1, true
		}
	}
	return "", 0, false
}

var betweenRE = regexp.MustCompile(`(?i)between (?:the )?(?:markers? |lines? )?(\S+) and (\S+)`)

// between reads "the text between <a> and <b>": what stands later between the two.
func between(s string) (value string, ok bool) {
	m := betweenRE.FindStringSubmatchIndex(s)
	if m == nil {
		return "", false
	}
	open := strings.Trim(s[m[2]:m[3]], "\"'`")
	shut := strings.TrimRight(strings.Trim(s[m[4]:m[5]], "\"'`"), ".:,")
	_, rest, ok := strings.Cut(s[m[1]:], open)
	if !ok {
		return "", false
	}
	value, _, ok = strings.Cut(rest, shut)
	return strings.Trim(value, "\n"), ok
}

// jsonAt reads the JSON object or array that begins at s[i].
func jsonAt(s string, i int) (raw string, ok bool) {
	depth, inString := 0, false
	for k := i; k < len(s); k++ {
		switch c := s[k]; {
		case inString && c == '\\':
			k++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				raw = s[i : k+1]
				return raw, shallow.ValidString(raw)
			}
		}
	}
	return "", false
}

// literalOf returns the first JSON value in s that begins with the given bracket.
func literalOf(s string, bracket byte) (raw string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != bracket {
			continue
		}
		if raw, ok = jsonAt(s, i); ok {
			return raw, true
		}
	}
	return "", false
}

var (
	numberRE = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`)
	boolRE   = regexp.MustCompile(`(?i)\b(true|false|yes|no|on|off)\b`)
)

// compact returns JSON on one line with a space after each comma and colon, as
// models write it.
func compact(raw string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			c = raw[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		b.WriteByte(c)
		if !inString && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// jsonString writes s as JSON. Markup is left as it is: nobody reads it as HTML.
func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("reader: a string does not marshal: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
