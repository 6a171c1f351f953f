package reader

import (
	"strings"
	"unicode"
)

// copulas join a description to its value.
var copulas = []struct{ text, verb string }{
	{" is ", "is"},
	{" are ", "are"},
	{" was ", "is"},
	{" were ", "are"},
	{" equals ", "is"},
	{" is: ", "is"},
	{" are: ", "are"},
	{" maps to ", "is"},
	{" = ", "is"},
	{" -> ", "is"},
	{" => ", "is"},
	{" becomes ", "is"},
	{" changed to ", "is"},
	{" reads ", "is"},
}

// copula finds the first joining word.
func copula(s string) (at, size int, verb string) {
	at = -1
	for _, c := range copulas {
		if i := strings.Index(s, c.text); i > 0 && (at < 0 || i < at) {
			at, size, verb = i, len(c.text), c.verb
		}
	}
	return at, size, verb
}

// halves splits a sentence that makes two statements.
func halves(s string) (left, right string, ok bool) {
	if len(s) > maxSentence {
		return "", "", false
	}
	for _, sep := range []string{"; ", ", and ", " and ", ", while ", " while ", ", but ", ", "} {
		for from := 0; ; {
			i := strings.Index(s[from:], sep)
			if i < 0 {
				break
			}
			i += from
			from = i + len(sep)
			l, r := s[:i], s[i+len(sep):]
			if at, _, _ := copula(r); at > 0 && (describes(r[:at]) || placed(r) && strings.Contains(r[:at], " the ")) {
				if at, _, _ := copula(l); at > 0 {
					return l, r, true
				}
			}
		}
	}
	return "", "", false
}

// describes says whether s can be the description of a second statement: "the red
// code", and not "it" or "which".
func describes(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	switch strings.ToLower(first) {
	case "the", "my", "your", "its", "his", "her", "their", "our", "a", "an":
		return strings.Contains(s, " ")
	}
	return false
}

// lastClause drops what leads up to a description: "Remember that the code",
// "For the harbour, the code".
func lastClause(s string) string {
	for _, sep := range []string{" that ", ", "} {
		if i := strings.LastIndex(s, sep); i >= 0 && describes(s[i+len(sep):]) {
			s = s[i+len(sep):]
		}
	}
	if strings.Count(s, " ") >= maxSubjectWords {
		s = s[strings.LastIndex(s, " the ")+1:]
	}
	if i := strings.Index(s, " the "); i > 0 && placed(s) && !strings.Contains(s[i+5:], " the ") && len(strings.Fields(s[:i])) > 1 {
		return s[i+1:] // "in room 12 the key"
	}
	return s
}

// isValue says whether s looks like a datum: a number, a code, something quoted.
func isValue(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && !strings.Contains(s, " ") && (strings.ContainsFunc(s, unicode.IsDigit) || s[0] == '"' || s[0] == '`')
}

// tidy cuts a right-hand side down to the value it names.
func tidy(v string) string {
	v = strings.TrimSpace(v)
	for _, lead := range []string{"now ", "set to ", "changed to ", "updated to ", "always ", "still ", "currently ", "exactly ", "as follows: ", "the number ", "the word ", "the code "} {
		if rest, ok := strings.CutPrefix(v, lead); ok && rest != "" {
			v = rest
		}
	}
	if len(v) > 1 && strings.IndexByte("\"'`", v[0]) >= 0 {
		if end := strings.IndexByte(v[1:], v[0]); end > 0 {
			return v[1 : 1+end]
		}
	}
	if first, rest, ok := strings.Cut(v, " "); ok && longNumber(first) && !strings.HasPrefix(rest, "(") {
		return strings.Trim(first, ",;.")
	}
	for _, end := range []string{", ", "; ", " and ", " but ", " which ", " because ", " (", " - ", " – "} {
		if i := strings.Index(v, end); i > 0 {
			v = v[:i]
		}
	}
	return strings.Trim(v, " .,;!*`")
}

// longNumber says whether s is a number that is complete in itself, and not a
// quantity of something ("3 boats").
func longNumber(s string) bool {
	digits := 0
	for _, r := range strings.Trim(s, ",;.") {
		if r < '0' || r > '9' {
			return false
		}
		digits++
	}
	return digits >= 4
}
