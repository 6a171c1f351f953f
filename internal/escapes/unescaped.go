package escapes

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// simple are JSON's escapes of one letter.
var simple = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped returns a text with JSON's escapes replaced by what they stand for. What is no
// escape, such as half of one at the end, stays.
func unescaped(text string) string {
	at := strings.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	var out strings.Builder
	for rest := text; ; {
		out.WriteString(rest[:at])
		rest = rest[at:]
		c, n := escape(rest)
		out.WriteString(c)
		rest = rest[n:]
		if at = strings.IndexByte(rest, '\\'); at < 0 {
			out.WriteString(rest)
			return out.String()
		}
	}
}

// escape reads the escape that a text begins with, and returns its length. A backslash that
// begins none stands for itself.
func escape(text string) (string, int) {
	if len(text) > 1 {
		if c, ok := simple[text[1]]; ok {
			return string(c), 2
		}
	}
	r, ok := unit(text)
	if !ok {
		return text[:1], 1
	}
	if utf16.IsSurrogate(r) {
		low, _ := unit(text[6:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return string(pair), 12
		}
	}
	return string(r), 6 // half of a pair is the sign for what is no character
}

// unit reads \uXXXX.
func unit(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
