package gates

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes untrusted text safe for a terminal, a page or a record: control
// characters, bidirectional overrides, invisible format characters, broken UTF-8
// and line breaks come out as visible escapes, and what exceeds maxRunes is cut
// in the middle, with the number of runes left out. maxRunes <= 0 cuts nothing.
func Printable(s string, maxRunes int) string {
	if maxRunes > 0 {
		s = cutMiddle(s, maxRunes)
	}
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		writeRune(&b, r, n, s[i])
		i += n
	}
	return b.String()
}

// Quote is [Printable] inside double quotes, for evidence.
func Quote(s string, maxRunes int) string {
	return `"` + strings.ReplaceAll(Printable(s, maxRunes), `"`, `\"`) + `"`
}

const hexDigits = "0123456789abcdef"

func writeRune(b *strings.Builder, r rune, n int, first byte) {
	switch {
	case r == utf8.RuneError && n == 1:
		b.WriteString(`\x`)
		b.WriteByte(hexDigits[first>>4])
		b.WriteByte(hexDigits[first&15])
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case visible(r):
		b.WriteRune(r)
	default:
		b.WriteString(`\u{`)
		for shift := 28; shift >= 0; shift -= 4 {
			if d := r >> shift; d != 0 || shift == 0 {
				b.WriteByte(hexDigits[d&15])
			}
		}
		b.WriteByte('}')
	}
}

// visible reports whether a rune is shown as itself. Format characters (Cf) hold
// the bidirectional overrides and the zero-width joiners: a reader must see them. So
// must they the fillers and variation selectors, in which whole texts can hide.
func visible(r rune) bool {
	return r == ' ' || unicode.IsGraphic(r) &&
		!unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// reprint is [Printable] for a text that may have been through it already, such as
// one from a record: what Printable can have made is left alone, so that a text is
// not cut a second time by the mark and the escapes that it got the first time.
func reprint(s string, maxRunes int) string {
	// An escape has ten characters at most, the mark of the cut fewer than 40.
	if utf8.RuneCountInString(s) <= 10*maxRunes+40 && Printable(s, 0) == s {
		return s
	}
	return Printable(s, maxRunes)
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func cutMiddle(s string, maxRunes int) string {
	if len(s) <= maxRunes {
		return s
	}
	total := utf8.RuneCountInString(s)
	if total <= maxRunes {
		return s
	}
	head, tail := (maxRunes+1)/2, maxRunes/2
	i := 0
	for range head {
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	j := len(s)
	for range tail {
		_, n := utf8.DecodeLastRuneInString(s[:j])
		j -= n
	}
	return s[:i] + " …(" + itoa(total-head-tail) + " more)… " + s[j:]
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
