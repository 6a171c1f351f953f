package reader

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var saying = regexp.MustCompile(`(?i)^(?:reply|respond|answer|say|repeat|write|echo|output|print|return)\b(?: back)?(?: to me)?(?: only| just| exactly)*(?: with)?(?: only| just| exactly)*\s*(?:(?:the|a|one|following|exact|single) )*(?:(?:word|words|text|string|characters|phrase|sentence|line|message)\b ?)*(?:exactly|verbatim|only|after me)*[:,]?\s*`)

var saidOnly = regexp.MustCompile(`(?i)(?:,? and nothing else|,? nothing else|,? and nothing more|,? only|,? exactly(?: once)?|,? without .*|,? with no .*)[.!]?$`)

// recite repeats a text that is clearly set off: after a colon, or in quotation
// marks.
func recite(e errand, _ bool) (string, bool) {
	head := saying.FindString(e.text)
	if head == "" {
		return "", false
	}
	body, rest := e.text[len(head):], e.rest[len(head):]
	if v, _, ok := quotedAt(rest+" ", 0); ok {
		return v, true
	}
	if !strings.Contains(head, ":") || strings.HasSuffix(e.low, "?") {
		return "", false
	}
	if body == "" { // the text begins on the next line and goes on to the end
		rest = strings.TrimSpace(rest)
		if v, _, ok := quotedAt(rest+" ", 0); ok {
			return v, true
		}
		return rest, rest != ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line), true
}

// notSaid begin what is wanted and is not the words to say: "write a story",
// "return the code".
var notSaid = set("a an the about my your me some this that these those in to one two three each every as it what how why at any all several both only with for of")

// article at the end of the head means that a description follows: "return the
// code".
var article = regexp.MustCompile(`(?i) (?:the|a|one) *$`)

// say repeats a word or two: "Reply with OK".
func say(e errand, _ bool) (string, bool) {
	head := saying.FindString(e.text)
	if head == "" || strings.HasSuffix(e.low, "?") {
		return "", false
	}
	body := e.text[len(head):]
	first, _, _ := strings.Cut(strings.ToLower(body), " ")
	if first == "" || article.MatchString(head) || strings.Contains(body, " or ") || notSaid[strings.Trim(first, ".,:;")] || len(strings.Fields(body)) > 12 {
		return "", false
	}
	return strings.TrimRight(strings.TrimSpace(saidOnly.ReplaceAllString(body, "")), ".!"), true
}

// quoted returns the first text in quotation marks or backquotes. An apostrophe
// within a word opens nothing.
func quoted(s string) string {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if end := closing(r); end != "" && (i == 0 || strings.IndexByte(" (:=\n[", s[i-1]) >= 0) {
			if j := strings.Index(s[i+n:], end); j > 0 {
				return s[i+n : i+n+j]
			}
		}
		i += n
	}
	return ""
}

func closing(r rune) string {
	switch r {
	case '"', '\'', '`':
		return string(r)
	case '“':
		return "”"
	case '«':
		return "»"
	}
	return ""
}

// askedFor returns what a sentence wants to know, as a phrase.
func askedFor(low string) string {
	s := strings.TrimRight(low, "?.! ")
	for _, det := range []string{" the ", " my ", " your "} {
		if i := strings.Index(s, det); i >= 0 {
			return s[i+len(det):]
		}
	}
	if !strings.HasSuffix(low, "?") {
		return ""
	}
	return "answer"
}
