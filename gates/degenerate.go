package gates

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Symptom is one sign of degenerate text.
type Symptom struct {
	// ID is the detector, "D1" to "D10".
	ID string
	// Hard says that no legitimate text was seen to show it.
	Hard bool
	// Detail says what was seen, with the number that crossed the limit.
	Detail string
}

// TextContext is what a detector must know about where a text came from.
type TextContext struct {
	// Prompt is the whole prompt: a marker or script that it holds may be echoed.
	Prompt string
	// CutShort says that the text ended at the token limit or the stream was cut.
	CutShort bool
	// Multilingual says that the prompt asked for several languages.
	Multilingual bool
}

// detectorWindow is the number of runes at the end of a text that the repetition
// detectors look at.
const detectorWindow = 8192

// Limits of the detectors. They were set on legitimate windows of code, prose,
// tables, logs and eight scripts, and on synthetic garbage; see
// docs/decisions/0006-degenerate-text.md.
const (
	periodMax         = 400  // D1: longest period, in runes
	periodRepeats     = 8    // D1
	periodRunes       = 200  // D1: least length of the periodic tail
	ruleRunes         = 1024 // D1: no ruled line of a text is as long
	runHard, runWarn  = 128, 64
	gluedPer1000      = 10.0 // D4: glued script changes per 1,000 letters; legitimate maximum 2.2
	gluedMin          = 4
	interleaveShare   = 0.22 // D5: legitimate maximum 0.15 in texts of 512 runes and more
	interleaveScripts = 4
	interleaveWords   = 20
	interleaveRunes   = 512
	mojibakeRuns      = 3    // D8
	mojibakeLong      = 8    // D8: characters in one run that prove it alone
	tailBreaks        = 16   // D9
	tailBlanks        = 400  // D9
	zlibRatio         = 24.0 // D3, support only
)

// Degenerate returns the symptoms of a text, hard ones first. Apply it to each
// channel on its own. Empty text has none: whether it may be empty is another
// question. It catches loops, salad, broken characters and leaked markers; it
// cannot catch fluent nonsense or punctuation noise, which is why known answers
// decide and this supports.
func Degenerate(text string, in TextContext) []Symptom {
	var hard, soft []Symptom
	add := func(s Symptom, ok bool) {
		switch {
		case ok && s.Hard:
			hard = append(hard, s)
		case ok:
			soft = append(soft, s)
		}
	}
	add(leakedMarker(text, in.Prompt))
	add(controlCharacters(text))
	add(replacementCharacters(text))
	add(mojibake(text))
	add(periodicTail(text, in.CutShort))
	add(characterRun(text))
	add(whitespaceTail(text, in.CutShort))
	if !in.Multilingual {
		add(gluedScripts(text))
		add(interleavedScripts(text))
	}
	if len(hard) > 0 {
		if ratio := compression(text); ratio >= zlibRatio {
			soft = append(soft, Symptom{ID: "D3", Detail: fmt.Sprintf("compresses %.0f to 1", ratio)})
		}
	}
	return append(hard, soft...)
}

// tailRunes returns the last n runes with runs of spaces collapsed.
func tailRunes(text string, n int) []rune {
	if len(text) > 8*n {
		text = text[len(text)-8*n:]
	}
	out := make([]rune, 0, min(len(text), 8*n))
	for _, r := range text {
		if r == ' ' && len(out) > 0 && out[len(out)-1] == ' ' {
			continue
		}
		out = append(out, r)
	}
	if len(out) > n {
		out = out[len(out)-n:]
	}
	return out
}

// periodicTail is D1: the longest suffix that repeats with a period up to 400
// runes, at least 8 times, over at least 200 runes and half of the text.
func periodicTail(text string, cutShort bool) (Symptom, bool) {
	r := tailRunes(strings.TrimRight(text, " \n\t\r"), detectorWindow)
	for p := 1; p <= periodMax && p*periodRepeats <= len(r); p++ {
		n := 0
		for i := len(r) - 1; i >= p && r[i] == r[i-p]; i-- {
			n++
		}
		n += p
		if n < periodRunes || n < p*periodRepeats || n*2 < len(r) {
			continue
		}
		unit := string(r[len(r)-p:])
		if p > 4 && !strings.ContainsFunc(unit, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			continue // a ruled line of a table
		}
		if n < ruleRunes && isRule(r[len(r)-1]) && strings.Trim(unit, string(r[len(r)-1])) == "" {
			continue // one ruled line, whatever period it is read with
		}
		return Symptom{"D1", cutShort, fmt.Sprintf("the last %d characters repeat %s %d times", n, Quote(unit, 40), n/p)}, true
	}
	return Symptom{}, false
}

// isRule reports whether a character draws lines in legitimate text: the marks of
// plain-text tables, and box drawing and block elements.
func isRule(r rune) bool {
	return strings.ContainsRune(" -=_*#~.+/\\<>^0|", r) || r >= '\u2500' && r <= '\u259f'
}

// characterRun is D2: one character in a row.
func characterRun(text string) (Symptom, bool) {
	var last, worst rune
	n, most := 0, 0
	for _, r := range text {
		if r != last {
			last, n = r, 0
		}
		if n++; n > most && !isRule(r) && !unicode.IsSpace(r) {
			most, worst = n, r
		}
	}
	return Symptom{"D2", most >= runHard, fmt.Sprintf("%s %d times in a row", Quote(string(worst), 4), most)}, most >= runWarn
}

// compression is D3: bytes in over bytes out, zlib level 6; 0 below 1,024 runes.
func compression(text string) float64 {
	if utf8.RuneCountInString(text) < 1024 {
		return 0
	}
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, 6)
	if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
		return 0
	}
	return float64(len(text)) / float64(b.Len())
}

// scriptOf returns a small number for the script of a letter, 0 for none.
func scriptOf(r rune) int {
	if r < 0x80 {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return 1
		}
		return 0
	}
	if !unicode.IsLetter(r) {
		return 0
	}
	for i, t := range scripts {
		if unicode.Is(t, r) {
			return i + 1
		}
	}
	// The micro sign, the letters of formulas and the modifiers belong to no script.
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return 0
	}
	return len(scripts) + 1
}

const (
	latin = 1 + iota
	greek
	han
	hiragana
	katakana
	hangul
	thai
	khmer
	hebrew
)

var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Khmer, unicode.Hebrew, unicode.Cyrillic, unicode.Arabic, unicode.Devanagari, unicode.Bengali,
	unicode.Tamil, unicode.Telugu, unicode.Georgian, unicode.Armenian, unicode.Ethiopic,
}

// mixes reports whether two scripts next to each other are odd. Latin stands
// beside Greek in mathematics, and everything stands beside Han and Kana.
func mixes(a, b int) bool {
	cjk := func(s int) bool { return s == han || s == hiragana || s == katakana }
	if a == b || a == 0 || b == 0 || cjk(a) || cjk(b) {
		return false
	}
	return !(a == latin && b == greek || a == greek && b == latin)
}

// gluable reports whether a script takes Latin words without a blank: Korean
// endings and Hebrew prefixes stand at them, Thai and Khmer write no blanks.
func gluable(s int) bool { return s == hangul || s == thai || s == khmer || s == hebrew }

// gluedScripts is D4: letters of different scripts with nothing between them.
func gluedScripts(text string) (Symptom, bool) {
	letters, events, prev := 0, 0, 0
	escape := false
	for _, r := range text {
		s := scriptOf(r)
		if escape {
			s = 0 // the n of a written-out \n is no letter of the word behind it
		}
		escape = r == '\\' && !escape
		if s != 0 {
			letters++
			if mixes(prev, s) && !(prev == latin && gluable(s)) && !(gluable(prev) && s == latin) {
				events++
			}
		} else if unicode.Is(unicode.M, r) {
			continue // a combining mark belongs to the letter before it
		}
		prev = s
	}
	if letters == 0 {
		return Symptom{}, false
	}
	rate := 1000 * float64(events) / float64(letters)
	return Symptom{"D4", true, fmt.Sprintf("%d changes of script inside words, %.0f in 1,000 letters", events, rate)},
		events >= gluedMin && rate >= gluedPer1000
}

// interleavedScripts is D5: neighbouring words in different scripts.
func interleavedScripts(text string) (Symptom, bool) {
	if utf8.RuneCountInString(text) < interleaveRunes {
		return Symptom{}, false
	}
	words, changes, prev := 0, 0, 0
	seen := map[int]bool{}
	for w := range strings.FieldsSeq(text) {
		s := 0
		for _, r := range w {
			if s = scriptOf(r); s != 0 {
				break
			}
		}
		if s == 0 {
			continue
		}
		words++
		seen[s] = true
		if mixes(prev, s) && !(prev == hangul && s == han || prev == han && s == hangul) {
			changes++
		}
		prev = s
	}
	if words < interleaveWords || len(seen) < interleaveScripts {
		return Symptom{}, false
	}
	share := float64(changes) / float64(words-1)
	return Symptom{"D5", true, fmt.Sprintf("%d scripts in turn: %.0f %% of neighbouring words change script", len(seen), 100*share)},
		share >= interleaveShare
}

// replacementCharacters is D6.
func replacementCharacters(text string) (Symptom, bool) {
	n := strings.Count(text, "\uFFFD")
	if !utf8.ValidString(text) {
		for _, r := range text {
			if r == utf8.RuneError {
				n++
			}
		}
		n -= strings.Count(text, "\uFFFD")
	}
	return Symptom{"D6", n >= 3, fmt.Sprintf("%d broken characters (U+FFFD)", n)}, n > 0
}

// controlCharacters is D7.
func controlCharacters(text string) (Symptom, bool) {
	n, nul := 0, false
	for _, r := range text {
		if (r < ' ' && !strings.ContainsRune("\t\n\r\f", r)) || r >= 0x7f && r < 0xa0 {
			n++
			nul = nul || r == 0
		}
	}
	return Symptom{"D7", nul || n >= 2, fmt.Sprintf("%d control characters", n)}, n > 0
}

// mojibake is D8: runs of U+0080 to U+00FF that are UTF-8 when read as bytes.
func mojibake(text string) (Symptom, bool) {
	runs := 0
	var b []byte
	example := ""
	flush := func() {
		if n := utf8.RuneCount(b); len(b) >= 2 && utf8.Valid(b) && !germanQuote(b) {
			runs++
			if n >= mojibakeLong {
				// Chinese has no ASCII to end a run: a page of it may be a single one.
				runs = max(runs, mojibakeRuns)
			}
			if example == "" {
				example = string(b)
			}
		}
		b = b[:0]
	}
	for _, r := range text {
		switch c, ok := cp1252[r]; {
		case r >= 0x80 && r <= 0xff:
			b = append(b, byte(r))
		case ok:
			b = append(b, c)
		default:
			flush()
		}
	}
	b = whole(b)
	flush()
	return Symptom{"D8", true, fmt.Sprintf("%d characters decoded twice, such as %s", runs, Quote(example, 20))}, runs >= mojibakeRuns
}

// germanQuote reports whether the bytes are a sharp s before a closing quotation
// mark, a dash or an ellipsis, as in „groß“: legitimate, and valid UTF-8 by chance
// (of the N'Ko script).
func germanQuote(b []byte) bool { return len(b) == 2 && b[0] == 0xdf }

// whole drops a character that the end of the text cut in two.
func whole(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-3; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// cp1252 holds the bytes 0x80 to 0x9f that Windows-1252 shows as other characters.
var cp1252 = map[rune]byte{
	'€': 0x80, '‚': 0x82, 'ƒ': 0x83, '„': 0x84, '…': 0x85, '†': 0x86, '‡': 0x87, 'ˆ': 0x88, '‰': 0x89, 'Š': 0x8a, '‹': 0x8b,
	'Œ': 0x8c, 'Ž': 0x8e, '‘': 0x91, '’': 0x92, '“': 0x93, '”': 0x94, '•': 0x95, '–': 0x96, '—': 0x97, '˜': 0x98, '™': 0x99,
	'š': 0x9a, '›': 0x9b, 'œ': 0x9c, 'ž': 0x9e, 'Ÿ': 0x9f,
}

// whitespaceTail is D9: blanks or line breaks up to the token limit.
func whitespaceTail(text string, cutShort bool) (Symptom, bool) {
	if !cutShort {
		return Symptom{}, false
	}
	tail := text[len(strings.TrimRightFunc(text, unicode.IsSpace)):]
	breaks, blanks := strings.Count(tail, "\n"), utf8.RuneCountInString(tail)
	return Symptom{"D9", true, fmt.Sprintf("ends in %d blanks with %d line breaks", blanks, breaks)},
		breaks >= tailBreaks || blanks >= tailBlanks
}

// markers are control tokens of the common chat formats. A detokenised byte token
// or a raw byte-level letter is one too.
var markers = strings.Fields(`<|im_start|> <|im_end|> <|endoftext|> <|eot_id|> <|eom_id|> <|python_tag|> <|start_header_id|> <|end_header_id|>
<|begin_of_text|> <|end_of_text|> <|start|> <|channel|> <|message|> <|constrain|> <|call|> <|return|> <|end|> <tool_call> </tool_call> <tool_response>
</tool_response> <function= <parameter= [TOOL_CALLS] <|tool_calls_section_begin|> <|tool_call_begin|> <｜tool▁calls▁begin｜> <｜tool▁call▁begin｜>
<｜Assistant｜> <｜User｜> <｜end▁of▁sentence｜> <think> </think> <start_of_turn> <end_of_turn> <unk> <pad> <s> </s> [INST] [/INST]
<eos> <bos> <|user|> <|assistant|> <|system|> <|im_system|> <|im_user|> <|im_assistant|> <|im_middle|> <|tool_calls_section_end|> <|tool_call_end|>
<｜begin▁of▁sentence｜> <|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|> <|eot|> <|header_start|> <|header_end|>`)

// numberedToken is a byte that a SentencePiece vocabulary writes out, or a token that a
// vocabulary keeps in reserve.
var numberedToken = regexp.MustCompile(`<0x[0-9A-F]{2}>|<unused\d+>|<\|reserved_special_token_\d+\|>|<reserved_\d+>`)

// byteLevel are the letters that byte-level and SentencePiece vocabularies write
// for blanks. Each is also a character of ordinary text (Maltese, bar charts), so
// only three count that stand inside a text without blanks: behind a letter that is
// no capital, a digit or the end of a sentence, and before a letter.
var byteLevel = []rune{'Ġ', 'Ċ', '▁'}

// leakedMarker is D10: a control marker that the prompt did not hold. Inside a
// fenced or quoted code span it may be an example, so there it only warns.
func leakedMarker(text, prompt string) (Symptom, bool) {
	var quoted Symptom
	for _, m := range append(numberedToken.FindAllString(text, 256), markers...) {
		if !strings.Contains(text, m) || strings.Contains(prompt, m) {
			continue
		}
		found := Symptom{"D10", true, "holds the control marker " + Quote(m, 40)}
		if outsideCode(text, m) {
			return found, true
		}
		if quoted.ID == "" {
			found.Hard = false
			quoted = found
		}
	}
	for _, m := range byteLevel {
		n, before, prev := 0, rune(0), rune(0)
		for _, r := range text {
			if prev == m && unicode.IsLetter(r) && r != m && endsWord(before) {
				n++
			}
			before, prev = prev, r
		}
		if n >= 3 && !strings.ContainsRune(prompt, m) {
			return Symptom{"D10", true, fmt.Sprintf("holds the vocabulary's own blank %s %d times", Quote(string(m), 4), n)}, true
		}
	}
	return quoted, quoted.ID != ""
}

// outsideCode reports whether one of the places of a marker is not inside a code
// span: an even number of backticks stands before it.
func outsideCode(text, marker string) bool {
	ticks := 0
	for {
		i := strings.Index(text, marker)
		if i < 0 {
			return false
		}
		if ticks += strings.Count(text[:i], "`"); ticks%2 == 0 {
			return true
		}
		text = text[i+len(marker):]
	}
}

func endsWord(r rune) bool {
	return unicode.IsLetter(r) && !unicode.IsUpper(r) || unicode.IsDigit(r) || strings.ContainsRune(".,;:!?)", r)
}
