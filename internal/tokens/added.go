package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found in the text before the model sees it.
type addedToken struct {
	id                         uint32
	content                    string
	lstrip, rstrip, singleWord bool
	normalized, special        bool
}

// matcher finds added tokens: at the leftmost place the longest one, in a trie
// over bytes. The zero matcher finds none.
type matcher struct {
	nodes  []trieNode
	tokens []addedToken
}

type trieNode struct {
	next  map[byte]int32
	token int32 // index of the token that ends here, or -1
}

// add enters a token under a spelling. The first of two alike wins.
func (m *matcher) add(spelling string, t addedToken) {
	if len(m.nodes) == 0 {
		m.nodes = []trieNode{{token: none}}
	}
	at := int32(0)
	for i := range len(spelling) {
		to, ok := m.nodes[at].next[spelling[i]]
		if !ok {
			to = int32(len(m.nodes))
			m.nodes = append(m.nodes, trieNode{token: none})
			if m.nodes[at].next == nil {
				m.nodes[at].next = make(map[byte]int32)
			}
			m.nodes[at].next[spelling[i]] = to
		}
		at = to
	}
	if m.nodes[at].token == none {
		m.nodes[at].token = int32(len(m.tokens))
		m.tokens = append(m.tokens, t)
	}
}

// longest returns the longest token that begins at text[from:].
func (m *matcher) longest(text string, from int) (t addedToken, end int, ok bool) {
	at, found := int32(0), none
	for i := from; i < len(text); i++ {
		to, more := m.nodes[at].next[text[i]]
		if !more {
			break
		}
		at = to
		if m.nodes[at].token != none {
			found, end = m.nodes[at].token, i+1
		}
	}
	if found == none {
		return addedToken{}, 0, false
	}
	return m.tokens[found], end, true
}

// split calls plain for the text between tokens and token for each token, in
// order. It follows the reference to the letter: a match that is no single word
// is passed over whole, a shorter token within it included.
func (m *matcher) split(text string, plain func(string) error, token func(uint32)) error {
	done := 0
	for at := 0; at < len(text) && len(m.nodes) > 0; {
		t, end, ok := m.longest(text, at)
		if !ok {
			at++
			continue
		}
		start := at
		at = end
		if t.singleWord && !aloneAt(text, start, end) {
			continue
		}
		if t.lstrip {
			start = len(strings.TrimRightFunc(text[:start], unicode.IsSpace))
		}
		if t.rstrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if done < start { // else the token before has taken that space
			if err := plain(text[done:start]); err != nil {
				return err
			}
		}
		token(t.id)
		done = end
	}
	if done == len(text) {
		return nil
	}
	return plain(text[done:])
}

// aloneAt reports whether text[start:end] touches no letter on either side.
func aloneAt(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return (start == 0 || !wordRune(before)) && (end == len(text) || !wordRune(after))
}

// wordRune is \w of the reference's engine: alphabetic, mark, decimal digit,
// connector or join control (UTS #18).
func wordRune(c rune) bool {
	return unicode.In(c, unicode.L, unicode.Nl, unicode.M, unicode.Nd, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control)
}
