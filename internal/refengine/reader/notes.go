package reader

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"infbench/internal/shallow"
)

// A note is a statement that was read: a description and what it says about it.
type note struct {
	subject string   // as written: "The secret code"
	verb    string   // "is" or "are"
	value   string   // "48213907"
	core    []string // keywords of the description
	around  string   // text whose words may also be used to point at it: "Record 17"
	source  source
}

// A source says where a note was taken.
type source struct {
	message int
	result  int // ordinal of the tool result, 0 elsewhere
}

const (
	maxSubjectWords = 16  // a longer left side is not a description
	maxLine         = 320 // bytes of a line that count as the surroundings of a note
	maxSentence     = 600 // bytes; what is longer is no sentence and is not taken apart
)

// takeNotes reads one message in one pass.
func takeNotes(notes []note, text string, src source) []note {
	if t := strings.TrimSpace(text); (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && shallow.ValidString(t) {
		return takeJSON(notes, gjson.Parse(t), "", "", src)
	}
	n := notebook{notes: notes, source: src}
	sentences(text, n.read)
	return n.notes
}

// A notebook takes notes sentence by sentence. A short line without a statement
// ("Record 17") is a heading: the lines below it are about that.
type notebook struct {
	notes   []note
	source  source
	heading string
	clear   int      // offset in the line after the last sentence that asked
	columns []string // of the table that is being read
}

func (n *notebook) read(s sentence) {
	if s.col == 0 || s.col < n.clear {
		n.clear = 0
	}
	if s.question() || asking(s.text) {
		n.clear = s.col + len(s.text)
		return
	}
	if strings.HasPrefix(strings.TrimSpace(s.line), "|") {
		n.row(s)
		return
	}
	n.columns = nil
	around := s.text[max(0, len(s.text)-maxLine):]
	if len(s.line) <= maxLine { // what was said before in this line, but not what was asked
		around = s.line[n.clear : s.col+len(s.text)]
	}
	if first, _, _ := strings.Cut(fold(s.text), " "); verbs[strings.TrimRight(first, ",")] {
		n.clear = s.col + len(s.text)
		if !strings.Contains(s.text, ":") { // "Explain why the sky is blue" states nothing
			return
		}
	}
	if n.heading != "" {
		around = n.heading + " " + around
	}
	before := len(n.notes)
	rest := strings.TrimRight(s.text, ".!; ")
	for { // filler without full stops may run into a statement: "… lorem The code is 5"
		i := strings.Index(rest, " The ")
		if i < 0 {
			break
		}
		n.statement(rest[:i], around)
		rest = rest[i+1:]
	}
	n.statement(rest, around)
	if len(n.notes) == before && len(s.text) < 60 && strings.ContainsFunc(s.text, unicode.IsDigit) {
		n.heading = s.text
	}
}

// asking says whether a sentence asks or is conditional instead of stating.
func asking(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	switch strings.ToLower(strings.Trim(first, `"',:`)) {
	case "what", "what's", "which", "who", "where", "when", "how", "why", "is", "are", "do", "does", "did", "can", "could", "would", "if":
		return true
	}
	return false
}

// row reads a line of a Markdown table: the first row names the columns, the first
// cell of each other row names what the row is about.
func (n *notebook) row(s sentence) {
	line := strings.Trim(strings.TrimSpace(s.line), "|")
	if !strings.HasPrefix(strings.TrimLeft(s.line, " |"), strings.TrimLeft(s.text, "| ")[:min(len(strings.TrimLeft(s.text, "| ")), 1)]) {
		return // a later sentence of a row that was read already
	}
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	switch {
	case strings.Trim(line, "-:| ") == "":
	case n.columns == nil:
		n.columns = cells
	default:
		for i := 1; i < len(cells) && i < len(n.columns); i++ {
			n.add(n.columns[i]+" of "+cells[0], "is", cells[i], line)
		}
	}
}

// statement reads one sentence, or each half of "The A is 1 and the B is 2".
func (n *notebook) statement(s, around string) {
	s = remember.ReplaceAllString(s, "")
	at, size, verb := copula(s)
	colon := strings.Index(s, ":")
	if colon > 0 && colon < at && n.labelled(s, colon, around) {
		return
	}
	if left, right, ok := halves(s); ok {
		if placed(right) { // "in room 12 …, and in room 13 …": each has a place of its own
			n.statement(left, left)
			n.statement(right, right)
			return
		}
		n.statement(left, around)
		n.statement(right, around)
		return
	}
	if at < 0 {
		if colon <= 0 || !n.labelled(s, colon, around) {
			n.possession(s, around)
		}
		return
	}
	subject, value := s[:at], strings.TrimSpace(s[at+size:])
	subject = lastClause(subject)
	if isValue(subject) && len(strings.Fields(value)) > 1 { // "48213907 is the secret code"
		subject, value = value, strings.TrimSpace(subject)
	}
	n.add(subject, verb, value, around)
	if s[at+size-2] == ':' { // "the codes are: blue 11, red 22"
		for _, p := range strings.Split(value, ",") {
			n.field(strings.TrimSpace(p), around)
		}
	}
}

// remember finds what merely introduces a statement.
var remember = regexp.MustCompile(`(?i)^(?:please )?(?:remember|note|memori[sz]e|keep in mind|bear in mind)(?: that| this:|:| this)? `)

// placed says whether a clause begins with where it holds.
func placed(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	switch strings.ToLower(first) {
	case "in", "for", "at", "on", "under", "with", "from":
		return true
	}
	return false
}

// labelled reads "Secret code: 48213907", "Record 17: the code is 48213907" and
// "Record 17: code 48213907, colour blue".
func (n *notebook) labelled(s string, colon int, around string) bool {
	left, right := strings.TrimSpace(s[:colon]), strings.TrimSpace(s[colon+1:])
	if right == "" || len(strings.Fields(left)) > 8 || !spaced(s, colon) {
		return false
	}
	if at, _, _ := copula(right); at >= 0 {
		n.statement(right, around)
		return true
	}
	first, _, _ := strings.Cut(left, " ")
	first = strings.ToLower(first)
	if verbs[first] && (first != strings.ToLower(left) || notSaidOf[first]) || len(keywords(left)) == 0 { // "Repeat: …", "Remember: …"
		n.statement(right, around)
		return true
	}
	n.add(left, "is", right, around)
	if parts := strings.FieldsFunc(right, func(r rune) bool { return r == ',' || r == ';' }); len(parts) > 1 {
		for _, p := range parts {
			n.field(strings.TrimSpace(p), around)
		}
	} else {
		n.field(right, around)
	}
	return true
}

// notSaidOf are verbs that name nothing when a colon follows: "Repeat: …", while
// "Name: …" and "Count: …" are labels.
var notSaidOf = set("repeat say write echo print output reply respond")

// spaced says whether the colon separates: not in "12:30" or "http://".
func spaced(s string, colon int) bool {
	return colon+1 < len(s) && (s[colon+1] == ' ' || s[colon+1] == '"' || s[colon-1] == '"')
}

// field reads "code 48213907", "code=48213907" or "code: 48213907".
func (n *notebook) field(s, around string) {
	if i := strings.IndexAny(s, "=:"); i > 0 && i+1 < len(s) {
		n.add(s[:i], "is", strings.TrimSpace(s[i+1:]), around)
		return
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 && len(strings.Fields(s)) <= 5 {
		n.add(s[:i], "is", s[i+1:], around)
	}
}

// possession reads "Record 17 has the access code 48213907" and "the code 48213907".
func (n *notebook) possession(s, around string) {
	for _, verb := range []string{" has ", " have ", " holds ", " carries ", " contains ", " uses ", " got ", " shows "} {
		left, right, ok := strings.Cut(s, verb)
		if !ok {
			continue
		}
		for _, sep := range []string{", and ", " and ", ", ", "; "} { // "A has x 1 and B has x 2"
			if one, two, both := strings.Cut(right, sep); both && strings.Contains(two, verb) {
				n.possession(two, two)
				right, around = one, left+" "+one
			}
		}
		if i := strings.LastIndexByte(right, ' '); i > 0 && isValue(right[i+1:]) && len(strings.Fields(right)) <= 6 {
			n.add(right[:i]+" of "+lastClause(left), "is", right[i+1:], around)
		}
		return
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 && describes(s) && longNumber(s[i+1:]) && len(strings.Fields(s)) <= 6 {
		n.add(s[:i], "is", s[i+1:], around)
	}
	// "code=48213907 colour=blue"
	if strings.Contains(s, "=") {
		for _, f := range strings.Fields(s) {
			if strings.Contains(f, "=") {
				n.field(strings.Trim(f, ",;"), around)
			}
		}
	}
}

func (n *notebook) add(subject, verb, value, around string) {
	subject = strings.Trim(subject, " \t\"'`*_,|")
	subject = strings.TrimSuffix(strings.TrimSuffix(subject, " been"), " has")
	value = tidy(value)
	if subject == "" || value == "" || strings.Count(subject, " ") >= maxSubjectWords {
		return
	}
	core := keywords(subject)
	if len(core) == 0 {
		return
	}
	n.notes = append(n.notes, note{subject, verb, value, core, around, n.source})
}

// takeJSON notes every scalar of a JSON document under its key. The keys above and
// the neighbours in the same object can be used to point at it.
func takeJSON(notes []note, v gjson.Result, key, around string, src source) []note {
	if !v.IsObject() && !v.IsArray() {
		n := notebook{notes: notes, source: src}
		if v.Type == gjson.String {
			n.add(strings.ReplaceAll(key, "_", " "), "is", `"`+v.Str+`"`, around)
			if strings.Contains(v.Str, " ") { // a text with statements of its own
				return takeNotes(n.notes, v.Str, src)
			}
			return n.notes
		}
		n.add(strings.ReplaceAll(key, "_", " "), "is", v.Raw, around)
		return n.notes
	}
	inner := around + " " + key
	if len(v.Raw) <= maxLine {
		inner += " " + v.Raw
	}
	v.ForEach(func(k, item gjson.Result) bool {
		name := key
		if v.IsObject() {
			name = k.Str
		}
		notes = takeJSON(notes, item, name, inner, src)
		return true
	})
	return notes
}
