package reader

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence is a piece of text with the place where it begins.
type sentence struct {
	text string
	line string // the line it stands in
	at   int    // offset in the message
	col  int    // offset in the line
}

func (s sentence) question() bool { return strings.HasSuffix(s.text, "?") }

// sentences cuts a text at line ends and after . ! ? before white space. It is one
// pass without allocation per sentence: prompts are long.
func sentences(text string, visit func(sentence)) {
	for start := 0; start < len(text); {
		end := strings.IndexByte(text[start:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += start
		}
		line := text[start:end]
		from := 0
		for i := 0; i < len(line); i++ {
			if c := line[i]; c != '.' && c != '!' && c != '?' {
				continue
			}
			stop := i + 1
			for stop < len(line) && (line[stop] == '"' || line[stop] == ')' || line[stop] == '\'') {
				stop++
			}
			if stop < len(line) && line[stop] != ' ' {
				continue
			}
			emit(text, line, start, start+from, start+stop, visit)
			from = stop
			i = stop - 1
		}
		emit(text, line, start, start+from, end, visit)
		start = end + 1
	}
}

func emit(text, line string, start, from, to int, visit func(sentence)) {
	s := text[from:to]
	lead := len(s) - len(strings.TrimLeft(s, " \t\r-*>#•"))
	s = strings.TrimRight(s[lead:], " \t\r")
	if s != "" && s != "." {
		visit(sentence{text: s, line: line, at: from + lead, col: from + lead - start})
	}
}

// keywords returns the words of s that can tell one description from another, in
// lower case and without plural endings.
func keywords(s string) []string {
	var out []string
	eachWord(s, func(w string) {
		if !stopWords[w] {
			out = append(out, stem(w))
		}
	})
	return out
}

// eachWord visits the runs of letters and digits of s in lower case.
func eachWord(s string, visit func(string)) {
	start := -1
	for i, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r > unicode.MaxLatin1 && unicode.IsMark(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			// The s of a genitive is no word of its own.
			if w := s[start:i]; w != "s" || start == 0 || s[start-1] != '\'' {
				visit(strings.ToLower(w))
			}
			start = -1
		}
	}
	if start >= 0 && (s[start:] != "s" || start == 0 || s[start-1] != '\'') {
		visit(strings.ToLower(s[start:]))
	}
}

func stem(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// words returns all words of s in lower case.
func words(s string) []string {
	var out []string
	eachWord(s, func(w string) { out = append(out, w) })
	return out
}

func set(list string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// stopWords never tell two descriptions apart.
var stopWords = set(`the a an of for to in on at by from with and or but that this these those is are was were be
	been being am it its my your our their his her i you we they me us him them he she s please remember note
	important also now then here there so as has have had do does did will would can could should shall must may
	might not if than just very note that there's let know keep mind following fact hint reminder attention
	what which who whom whose where when how why come comes came`)

// fillers are words of a question that point at the text and not at a thing in it.
var fillers = set(`tell give say state reply respond answer return report repeat provide recall print output write show name
	send only exactly again once back please using use used me us question word words number numbers digit digits
	mentioned mention given stated told said gave hidden above earlier before previously beginning start end begin text
	document message conversation prompt passage list paragraph sentence sentences records exact nothing else other
	without any explanation full complete correct find look everything all each every both three two remind
	still remembered according based first last line lines out shown appear appears appeared contained contains
	read chat turn ago asked ask want need like actually called written planted placed somewhere inside within
	between one followed long context input user system short briefly simply value provided number
	received got seen found returned noted reported learned learnt`)

func has(list []string, w string) bool {
	for _, x := range list {
		if x == w {
			return true
		}
	}
	return false
}

// fold is a cheap lower-casing for searches; it keeps the length for ASCII only
// and falls back to the text itself where the length would change.
func fold(s string) string {
	if l := strings.ToLower(s); len(l) == len(s) {
		return l
	}
	return s
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if len(s) > n && unicode.IsUpper(rune(s[n])) {
		return s // an acronym
	}
	return string(unicode.ToLower(r)) + s[n:]
}
