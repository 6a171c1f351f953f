package gates

import "unicode"

// foreignWords returns the words of a text that are written in a script which the prompt
// has no letter of, in their order. Single letters are formulas, and Greek is too; Han, Kana and
// Hangul stand for each other, since one language mixes them. A word is a run of letters
// and marks of at least two letters; of a script without blanks a run is one word.
func foreignWords(text, prompt string) []string {
	known := make([]bool, len(scripts)+2) // by [scriptOf]
	for _, r := range prompt {
		known[scriptOf(r)] = true
	}
	for _, s := range []int{han, hiragana, katakana, hangul} {
		if known[s] {
			known[han], known[hiragana], known[katakana], known[hangul] = true, true, true, true
		}
	}
	known[0], known[latin], known[greek] = true, true, true
	var out []string
	var word []rune
	letters, foreign := 0, 0
	end := func() {
		if letters >= 2 && foreign*2 > letters {
			out = append(out, string(word))
		}
		word, letters, foreign = word[:0], 0, 0
	}
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			letters++
			if !known[scriptOf(r)] {
				foreign++
			}
			word = append(word, r)
		case unicode.Is(unicode.M, r) && len(word) > 0:
			word = append(word, r)
		default:
			end()
		}
	}
	end()
	return out
}

// A ScriptTally counts, over many answers, the words that stand in a script which their
// prompt did not have: rare ones are seen in hundreds of answers and in none alone. The
// zero ScriptTally is ready for use.
type ScriptTally struct {
	// Answers is the number of answers, Words that of their words, Foreign that of the
	// words in another script, Odd that of the answers with any.
	Answers, Words, Foreign, Odd int
	// Example is one of them.
	Example string
}

// Add looks at one answer.
func (t *ScriptTally) Add(answer, prompt string) {
	t.Answers++
	in := false
	for _, r := range answer {
		if letter := unicode.IsLetter(r); letter != in {
			if in = letter; letter {
				t.Words++
			}
		}
	}
	if found := foreignWords(answer, prompt); len(found) > 0 {
		t.Odd++
		t.Foreign += len(found)
		if t.Example == "" {
			t.Example = found[0]
		}
	}
}
