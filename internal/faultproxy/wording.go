package faultproxy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A wording looks for the one place of a text where another word could stand: the first
// common word after so many others that is not part of what the prompt says. It depends
// on the prompt and the text alone, so that two answers have it in the same place.
type wording struct {
	prompt string
	words  int // that stay as they are

	said   int    // words so far
	inside bool   // of a word
	tail   string // what was said last
	found  bool
}

// A place is a word in a piece of text.
type place struct{ from, to int }

// copied is how many characters must agree with the prompt for a word to be copied.
const copied = 16

// find goes through the next piece of the text. fits says whether a word can be
// replaced where it stands. Open says that the place ends with the piece: only what
// comes next shows whether its word does too.
func (w *wording) find(piece string, fits func(place) bool) (at place, ok, open bool) {
	if w.found {
		return at, false, false
	}
	for i := 0; i < len(piece); {
		r, n := utf8.DecodeRuneInString(piece[i:])
		if !inWord(r) {
			w.inside = false
			i += n
			continue
		}
		end := i + strings.IndexFunc(piece[i:], func(r rune) bool { return !inWord(r) })
		if end < i {
			end = len(piece)
		}
		begins := !w.inside
		w.inside = true
		if begins {
			w.said++
		}
		at = place{i, end}
		if begins && w.said > w.words && synonyms[piece[i:end]] != "" && fits(at) && !w.copies(piece[:end]) {
			w.found = end < len(piece)
			w.note(piece)
			return at, true, !w.found
		}
		i = end
	}
	w.note(piece)
	return at, false, false
}

// goesOn says whether text continues the word that an open place ends with. If not,
// the place is found.
func (w *wording) goesOn(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	w.found = text == "" || !inWord(r)
	return !w.found
}

func (w *wording) copies(piece string) bool {
	s := w.tail + piece
	return len(s) >= copied && strings.Contains(w.prompt, s[len(s)-copied:])
}

func (w *wording) note(piece string) {
	s := w.tail + piece
	w.tail = s[max(0, len(s)-copied):]
}

func inWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N) || strings.ContainsRune("'’-_", r)
}

// synonyms are words that can stand in each other's place more or less.
var synonyms = map[string]string{
	"the": "that", "a": "one", "this": "that", "these": "those", "some": "several", "many": "most", "each": "every", "every": "each",
	"and": "plus", "but": "yet", "while": "as", "then": "next", "also": "likewise", "such": "similar", "very": "quite", "often": "usually",
	"could": "might", "may": "might", "must": "should", "will": "shall", "was": "stood", "had": "held", "made": "built", "uses": "takes",
	"old": "aged", "new": "fresh", "big": "large", "small": "little", "quiet": "silent", "slow": "late", "wide": "broad", "near": "by",
	"below": "under", "above": "over", "under": "below", "over": "above", "with": "having", "from": "off", "into": "in",
}

// strangers of the vocabulary: no model would say them there.
var misfits = []string{"copper", "violet", "gravel", "walnut", "saddle", "velvet"}
