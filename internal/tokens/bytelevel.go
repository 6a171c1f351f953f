package tokens

// Byte-level vocabularies spell each byte as one printable character, so that a
// token is readable JSON: printable Latin-1 stands for itself, and the rest is
// counted up from U+0100 (a space is Ġ, a line feed Ċ).
//
// Note: words are kept as raw bytes here and never spelled; the spelling is
// undone once, when a vocabulary is read. It is a bijection, so nothing is lost.

var byteOf, runeOf = byteAlphabet()

func byteAlphabet() (map[rune]byte, [256]rune) {
	m, r := make(map[rune]byte, 256), [256]rune{}
	next := rune(0x100)
	for b := range 256 {
		c := rune(b)
		if !printable(c) {
			c = next
			next++
		}
		m[c], r[b] = byte(b), c
	}
	return m, r
}

func printable(c rune) bool {
	return c >= '!' && c <= '~' || c >= 0xA1 && c <= 0xAC || c >= 0xAE && c <= 0xFF
}

// unspell returns the bytes of a spelled token. A token with a character
// outside the alphabet has none and no text can reach it.
func unspell(token string) (raw string, ok bool) {
	b := make([]byte, 0, len(token))
	for _, c := range token {
		x, ok := byteOf[c]
		if !ok {
			return "", false
		}
		b = append(b, x)
	}
	return string(b), true
}
