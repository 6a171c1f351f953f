// Package pieces is the tokenizer of the embedded engine.
//
// A text is cut by rule, without a vocabulary: up to five ASCII letters with one
// space before them, up to three digits, a run of one kind of white space, any
// other ASCII character, any other rune, any byte that is not UTF-8. English comes
// out at about four characters per token, as with learned vocabularies.
//
// The one rule: a token id spells its piece. Any text can be encoded, decoding is
// arithmetic, and the decoded pieces join to the text byte for byte.
package pieces

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Special tokens mark the parts of a rendered conversation. No text encodes to
// one: a marker typed by a user stays ordinary characters.
const (
	EndOfText int32 = iota
	Start           // begins a message
	End             // ends a message; as output, the end of the answer
	ToolCall
	EndToolCall
	ToolResult
	EndToolResult
	Think
	EndThink
	specials
)

var specialText = [specials]string{
	"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>",
	"<tool_response>", "</tool_response>", "<think>", "</think>",
}

// The layout of ids: each kind of piece has a range of its own.
const (
	byteBase  = 256     // + the byte
	spaceBase = 1024    // + kind·maxRun + length−1
	digitBase = 2048    // + (length−1)·1000 + value
	runeBase  = 8192    // + the rune
	wordBase  = 1 << 21 // + the letters in base 53, + wordSpace with a space before

	maxRun     = 64
	maxLetters = 5
	maxDigits  = 3
	wordSpace  = 53 * 53 * 53 * 53 * 53
	wordEnd    = wordBase + 2*wordSpace

	// Size bounds the ids from above.
	Size = wordEnd
)

const blanks = " \n\t\r"

// ErrUnknownID says that a number is not the id of any piece.
var ErrUnknownID = errors.New("no such token id")

// Append encodes text and appends its ids to dst.
func Append(dst []int32, text string) []int32 {
	for len(text) > 0 {
		id, n := Next(text)
		dst = append(dst, id)
		text = text[n:]
	}
	return dst
}

// Encode returns the ids of text.
func Encode(text string) []int32 {
	return Append(make([]int32, 0, len(text)/3+1), text)
}

// Count returns how many tokens text has.
func Count(text string) int {
	count := 0
	for len(text) > 0 {
		_, n := Next(text)
		count++
		text = text[n:]
	}
	return count
}

// Next returns the id and the length in bytes of the first piece of s, which is
// not empty.
func Next(s string) (id int32, size int) {
	c := s[0]
	switch {
	case letter(c) > 0:
		id, size = word(s)
		return wordBase + id, size
	case c == ' ' && len(s) > 1 && letter(s[1]) > 0:
		id, size = word(s[1:])
		return wordBase + wordSpace + id, size + 1
	case c >= '0' && c <= '9':
		return digits(s)
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		return blank(s)
	case c < utf8.RuneSelf:
		return byteBase + int32(c), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return byteBase + int32(c), 1
	}
	return runeBase + r, n
}

// letter numbers the ASCII letters from 1 to 52; 0 is "no letter".
func letter(c byte) int32 {
	switch {
	case c >= 'a' && c <= 'z':
		return int32(c-'a') + 1
	case c >= 'A' && c <= 'Z':
		return int32(c-'A') + 27
	}
	return 0
}

func word(s string) (id int32, size int) {
	for size < len(s) && size < maxLetters {
		v := letter(s[size])
		if v == 0 {
			break
		}
		id = id*53 + v
		size++
	}
	return id, size
}

func digits(s string) (id int32, size int) {
	for size < len(s) && size < maxDigits && s[size] >= '0' && s[size] <= '9' {
		id = id*10 + int32(s[size]-'0')
		size++
	}
	return digitBase + int32(size-1)*1000 + id, size
}

// blank takes a run of one kind of white space. The last space before a letter
// belongs to the word.
func blank(s string) (id int32, size int) {
	c := s[0]
	for size < len(s) && size < maxRun && s[size] == c {
		size++
	}
	if c == ' ' && size > 1 && size < len(s) && letter(s[size]) > 0 {
		size--
	}
	kind := int32(0)
	for blanks[kind] != c {
		kind++
	}
	return spaceBase + kind*maxRun + int32(size-1), size
}

// AppendPiece appends the text of one token to dst. Special tokens are written as
// their markers.
func AppendPiece(dst []byte, id int32) ([]byte, error) {
	switch {
	case id >= 0 && id < specials:
		return append(dst, specialText[id]...), nil
	case id >= byteBase && id < byteBase+256:
		return append(dst, byte(id-byteBase)), nil
	case id >= spaceBase && id < spaceBase+int32(len(blanks))*maxRun:
		kind, n := (id-spaceBase)/maxRun, (id-spaceBase)%maxRun+1
		for range n {
			dst = append(dst, blanks[kind])
		}
		return dst, nil
	case id >= digitBase && id < digitBase+maxDigits*1000:
		return appendDigits(dst, id)
	case id >= runeBase+utf8.RuneSelf && id <= runeBase+utf8.MaxRune && utf8.ValidRune(id-runeBase):
		return utf8.AppendRune(dst, id-runeBase), nil
	case id >= wordBase && id < wordEnd:
		return appendWord(dst, id)
	}
	return dst, fmt.Errorf("%w: %d", ErrUnknownID, id)
}

func appendDigits(dst []byte, id int32) ([]byte, error) {
	size, value := int(id-digitBase)/1000+1, (id-digitBase)%1000
	text := fmt.Sprintf("%0*d", size, value)
	if len(text) != size {
		return dst, fmt.Errorf("%w: %d", ErrUnknownID, id)
	}
	return append(dst, text...), nil
}

func appendWord(dst []byte, id int32) ([]byte, error) {
	v := id - wordBase
	if v >= wordSpace {
		dst, v = append(dst, ' '), v-wordSpace
	}
	var letters [maxLetters]byte
	i := maxLetters
	for ; v > 0; v /= 53 {
		i--
		switch d := v % 53; {
		case d == 0:
			return dst, fmt.Errorf("%w: %d", ErrUnknownID, id)
		case d <= 26:
			letters[i] = byte('a' + d - 1)
		default:
			letters[i] = byte('A' + d - 27)
		}
	}
	if i == maxLetters {
		return dst, fmt.Errorf("%w: %d", ErrUnknownID, id)
	}
	return append(dst, letters[i:]...), nil
}

// Decode joins the pieces of ids.
func Decode(ids []int32) (string, error) {
	out := make([]byte, 0, len(ids)*4)
	for _, id := range ids {
		var err error
		if out, err = AppendPiece(out, id); err != nil {
			return "", err
		}
	}
	return string(out), nil
}
