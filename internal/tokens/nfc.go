package tokens

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is where x/text/unicode/norm leaves plain NFC: after so many
// combining marks in a row it inserts a U+034F ("stream-safe text format").
const maxMarks = 30

// nfc returns the text in normalization form C, as of Unicode 9: the reference's
// tables are that old, and it is the reference whose ids are wanted.
func nfc(text string) string {
	if !manyMarks(text) && !strings.ContainsFunc(text, newer) {
		return norm.NFC.String(text)
	}
	return composeNFC(decompose(text))
}

// newer reports whether normalization first knew the character after Unicode 9.
func newer(c rune) bool { return c >= 0x7FD && unicode.Is(newerMarks, c) }

// newerMarks are the marks of Unicode 10 to 15, and the one composite with its second half.
var newerMarks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x7FD, 0x7FD, 1},
		{0x898, 0x89F, 1},
		{0x8CA, 0x8D3, 1},
		{0x9FE, 0x9FE, 1},
		{0xC3C, 0xC3C, 1},
		{0xD3B, 0xD3C, 1},
		{0xEBA, 0xEBA, 1},
		{0x1715, 0x1715, 1},
		{0x1ABF, 0x1ACE, 1},
		{0x1DF6, 0x1DFA, 1},
		{0xA82C, 0xA82C, 1},
	},
	R32: []unicode.Range32{
		{0x10D24, 0x10D27, 1},
		{0x10EAB, 0x10EAC, 1},
		{0x10EFD, 0x10EFF, 1},
		{0x10F46, 0x10F50, 1},
		{0x10F82, 0x10F85, 1},
		{0x11070, 0x11070, 1},
		{0x1133B, 0x1133B, 1},
		{0x1145E, 0x1145E, 1},
		{0x11839, 0x1183A, 1},
		{0x11930, 0x11930, 1},
		{0x11938, 0x11938, 1},
		{0x1193D, 0x1193E, 1},
		{0x11943, 0x11943, 1},
		{0x119E0, 0x119E0, 1},
		{0x11A34, 0x11A34, 1},
		{0x11A47, 0x11A47, 1},
		{0x11A99, 0x11A99, 1},
		{0x11D42, 0x11D42, 1},
		{0x11D44, 0x11D45, 1},
		{0x11D97, 0x11D97, 1},
		{0x11F41, 0x11F42, 1},
		{0x16FF0, 0x16FF1, 1},
		{0x1E08F, 0x1E08F, 1},
		{0x1E130, 0x1E136, 1},
		{0x1E2AE, 0x1E2AE, 1},
		{0x1E2EC, 0x1E2EF, 1},
		{0x1E4EC, 0x1E4EF, 1},
	},
}

// manyMarks reports whether the text may have a run that norm would break up.
func manyMarks(text string) bool {
	run := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			run, i = 0, i+1
			continue
		}
		p := norm.NFD.PropertiesString(text[i:])
		parts := utf8.RuneCount(p.Decomposition()) // 0 where it is its own
		if p.LeadCCC() == 0 {
			run = parts
		} else if run += max(parts, 1); run > maxMarks {
			return true
		}
		i += max(p.Size(), 1)
	}
	return false
}

// decompose returns the canonical decomposition, marks in canonical order.
func decompose(text string) []rune {
	var out []rune
	for _, c := range text {
		if newer(c) {
			out = append(out, c)
			continue
		}
		out = append(out, []rune(norm.NFD.String(string(c)))...)
	}
	for i := 0; i < len(out); {
		j := i
		for j < len(out) && class(out[j]) != 0 {
			j++
		}
		slices.SortStableFunc(out[i:j], func(a, b rune) int { return int(class(a)) - int(class(b)) })
		i = max(j, i+1)
	}
	return out
}

// composeNFC joins each character with the last starter before it, unless a
// mark of the same class or higher stands between them.
func composeNFC(in []rune) string {
	var out []rune
	starter, last := -1, uint8(0)
	for _, c := range in {
		cc := class(c)
		free := starter >= 0 && (len(out)-1 == starter || last != 0 && last < cc)
		if free {
			if joined, ok := compose(out[starter], c); ok {
				out[starter] = joined
				continue
			}
		}
		if cc == 0 {
			starter = len(out)
		}
		last = cc
		out = append(out, c)
	}
	var b strings.Builder
	for _, c := range out {
		b.WriteRune(c)
	}
	return b.String()
}

// compose asks norm, which knows the pairs and their exclusions.
func compose(a, b rune) (rune, bool) {
	s := norm.NFC.String(string([]rune{a, b}))
	c, size := utf8.DecodeRuneInString(s)
	return c, size == len(s) && !newer(c)
}

// class is the canonical combining class; 0 is a starter.
func class(c rune) uint8 {
	if newer(c) {
		return 0
	}
	return norm.NFD.PropertiesString(string(c)).CCC()
}
