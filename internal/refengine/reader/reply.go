package reader

import (
	"regexp"
	"strings"
)

// An errand is a sentence of the last message that wants something, and the rest
// of the message from there on, for errands that take a text along.
type errand struct {
	text string // without "please", "can you", "then"
	low  string // text folded
	rest string // from the beginning of text to the end of the message
}

// reply answers the last message with text.
func (c *conversation) reply(p *prose) string {
	list, bare := c.errands()
	bare = bare || terse(c.standing())
	var answers []string
	for _, e := range list {
		if a, ok := c.do(e, bare, p); ok && !has(answers, a) {
			answers = append(answers, a)
		}
	}
	if len(answers) == 0 {
		answers = []string{c.otherwise(p)}
	}
	return strings.Join(answers, "\n") + c.closing()
}

var closeWith = regexp.MustCompile(`(?i)^(?:and )?(?:end|finish|close) (?:it |the text |the story |the paragraph |the list )?with (.+)`)

// closing is what the last message wants to be said at the end.
func (c *conversation) closing() string {
	said := ""
	if strings.Contains(c.last, "with ") {
		sentences(c.last, func(s sentence) {
			if m := closeWith.FindStringSubmatch(s.text); m != nil {
				said = " " + c.phrase(m[1])
			}
		})
	}
	return said
}

// otherwise replies to a message that asks for nothing that is understood.
func (c *conversation) otherwise(p *prose) string {
	if c.after > 0 {
		return c.report()
	}
	if left, ok := unfinished(c.last); ok {
		if n, found := c.find(left); found {
			return n.value + "."
		}
	}
	switch n := len(strings.Fields(c.last)); {
	case n == 0:
		return "Hello."
	case greeting.MatchString(c.last):
		return "Hello. What would you like to know?"
	case n <= 40 && !strings.Contains(c.last, "?"):
		return "Understood."
	}
	return p.text(proseWords(p))
}

var greeting = regexp.MustCompile(`(?i)^\W*(hello|hi|hey|good (morning|day|evening))\b[^?]{0,30}$`)

// report tells what the latest tool result says.
func (c *conversation) report() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if m := c.Messages[i]; m.Role == ToolResult {
			list := strings.Fields(m.Content)
			if len(list) == 0 {
				return "The tool returned nothing."
			}
			return "The result is: " + strings.Join(list[:min(len(list), 40)], " ")
		}
	}
	return "Understood."
}

// unfinished recognises "The capital of France is", as sent to be completed.
func unfinished(s string) (left string, ok bool) {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexAny(s, ".\n"); i >= 0 {
		s = s[i+1:]
	}
	for _, end := range []string{" is", " are", " was", ":"} {
		if l, found := strings.CutSuffix(s, end); found {
			return l, true
		}
	}
	return "", false
}

// maxErrands bounds how many sentences are answered.
const maxErrands = 24

// errands finds what the last message wants: the sentences at its end that ask,
// and if there are none, the last one that does, wherever it is. Bare says that
// the answer is wanted without a sentence around it.
func (c *conversation) errands() (list []errand, bare bool) {
	var all []sentence
	text := strings.TrimSpace(c.last)
	for _, tail := range []string{"\nA:", "\nAnswer:", " A:", " Answer:"} {
		text = strings.TrimSpace(strings.TrimSuffix(text, tail))
	}
	sentences(text, func(s sentence) { all = append(all, s.pointed()) })
	gap := 0
	for i := len(all) - 1; i >= 0 && len(list) < maxErrands; i-- {
		e := newErrand(all[i], text)
		if format, pure := formatting(e.low); format {
			bare = true
			if pure {
				continue
			}
		}
		if !wants(e, all[i]) {
			if gap++; gap > 2 || len(list) > 0 && gap > 1 {
				break
			}
			continue
		}
		list = append(steps(e), list...)
	}
	if len(list) == 0 {
		list = lastErrand(all, text)
	}
	return list, bare
}

// pointed drops filler without full stops that runs into a question.
func (s sentence) pointed() sentence {
	if !s.question() {
		return s
	}
	i := strings.LastIndex(s.text, " What ") + 1
	if i == 0 && len(s.text) > maxSentence {
		i = len(s.text) - maxSentence
		i += strings.IndexByte(s.text[i:], ' ') + 1
	}
	s.text, s.at = s.text[i:], s.at+i
	return s
}

// stepRE cuts "state the code, then count to three".
var stepRE = regexp.MustCompile(`(?i)(?:[,;]| and)+ then `)

// steps returns the errands that one sentence holds.
func steps(e errand) []errand {
	cut := stepRE.FindStringIndex(e.text)
	if cut == nil {
		return []errand{e}
	}
	next := newErrand(sentence{text: e.text[cut[1]:], at: cut[1]}, e.rest)
	if first, _, _ := strings.Cut(next.low, " "); !verbs[first] {
		return []errand{e}
	}
	return append([]errand{{text: e.text[:cut[0]], low: e.low[:cut[0]], rest: e.rest}}, steps(next)...)
}

func lastErrand(all []sentence, text string) []errand {
	for i := len(all) - 1; i >= 0; i-- {
		e := newErrand(all[i], text)
		if _, pure := formatting(e.low); !pure && wants(e, all[i]) {
			return []errand{e}
		}
	}
	return nil
}

var leadIns = []string{
	"please ", "now ", "then ", "and ", "also ", "finally, ", "finally ", "next, ", "first, ", "first ", "start by ", "after that, ", "question: ", "q: ", "instruction: ",
	"can you ", "could you ", "would you ", "i want you to ", "i would like you to ", "you should ", "you must ", "kindly ", "so, ", "so ", "ok, ", "okay, ",
}

func newErrand(s sentence, message string) errand {
	text := s.text
	for trimmed := true; trimmed; {
		trimmed = false
		for _, lead := range leadIns {
			if len(text) > len(lead) && strings.EqualFold(text[:len(lead)], lead) {
				text, trimmed = strings.TrimLeft(text[len(lead):], " "), true
			}
		}
	}
	from := s.at + len(s.text) - len(text)
	return errand{text: text, low: fold(text), rest: message[from:]}
}

var verbs = set(`tell reply respond answer return give state report repeat provide recall print output say write spell
	count list compute calculate describe explain summarise summarize discuss continue elaborate generate create compose
	produce reverse translate name show echo convert sort evaluate solve find identify outline complete add multiply
	subtract divide read use call look remind begin start put`)

var auxiliaries = set("is are was were do does did will would can could should has have had")

// wants says whether a sentence asks for something.
func wants(e errand, s sentence) bool {
	if s.question() {
		return true
	}
	first, after, _ := strings.Cut(e.low, " ")
	first = strings.TrimRight(first, ":,.!")
	if verbs[first] {
		return true
	}
	switch first {
	case "what", "what's", "which", "who", "how", "why":
		return true
	case "where", "when": // "When the bells rang, they left." asks nothing
		next, _, _ := strings.Cut(after, " ")
		return auxiliaries[next]
	}
	return strings.HasSuffix(e.low, "=")
}

var formatWords = regexp.MustCompile(`\b(only|nothing else|just the|no other|without (any )?(explanation|other)|and nothing|digits alone|one word|single (word|number|line))\b`)

var formatObject = regexp.MustCompile(`^(answer|reply|respond|return|output|give|say|write|print|use|state|provide)\b[^.]*?\b(with |in )?(only|just|nothing but)?\s*(the |a |one |single |that )*(number|code|value|digits?|answer|word|name|result|key|letter|city|figure)s?\b`)

// formatting says whether a sentence wants the bare value, and whether that is all
// it says ("Answer with the number only.").
func formatting(low string) (format, pure bool) {
	if len(low) > maxSentence || !formatWords.MatchString(low) {
		return false, false
	}
	m := formatObject.FindString(low)
	if m == "" {
		return true, !verbs[strings.SplitN(low, " ", 2)[0]] && !strings.HasSuffix(low, "?") && !strings.HasPrefix(low, "what")
	}
	return true, len(unfilled(keywords(low))) == 0 || len(strings.Fields(strings.TrimPrefix(low, m))) <= 4 && genericOnly(low)
}

// genericOnly says whether the sentence names no particular thing.
func genericOnly(low string) bool {
	for _, w := range unfilled(keywords(low)) {
		switch w {
		case "code", "key", "name", "city", "figure", "digit", "letter", "result", "single", "just", "alone":
		default:
			return false
		}
	}
	return true
}

// terse says whether standing instructions want bare values.
func terse(standing string) bool {
	found := false
	sentences(standing, func(s sentence) {
		if format, pure := formatting(fold(s.text)); format && pure {
			found = true
		}
	})
	return found
}

var (
	ending  = regexp.MustCompile(`(?i)\b(?:end|finish|close|conclude)\b[^.\n]{0,40}?\b(?:answer|reply|response|message)s?\b[^.\n]{0,10}? (?:with|by)(?: writing| adding| saying)?:? (.+)`)
	opening = regexp.MustCompile(`(?i)\b(?:begin|start)\b[^.\n]{0,40}?\b(?:answer|reply|response|message)s?\b[^.\n]{0,10}? (?:with|by)(?: writing| adding| saying)?:? (.+)`)
	naming  = regexp.MustCompile(`(?i)^(?:exactly )?(?:the )?(?:(?:secret |closing |marker |final )?(?:word|words|code|number|phrase|text|marker|string|sentence|line)s?:? )?`)
)

// manners applies what the system messages say about every answer.
func (c *conversation) manners(answer string) string {
	for _, line := range strings.Split(c.standing(), "\n") {
		if m := ending.FindStringSubmatch(line); m != nil {
			answer += " " + c.phrase(m[1])
		}
		if m := opening.FindStringSubmatch(line); m != nil {
			answer = c.phrase(m[1]) + " " + answer
		}
	}
	return answer
}

// phrase takes the words that are to be said out of the end of an instruction, or
// what they describe: "with the word kestrel", "with the secret code".
func (c *conversation) phrase(s string) string {
	if strings.HasPrefix(s, "the ") && quoted(s) == "" {
		if n, ok := c.findIn(c.notes, strings.TrimRight(s, ". ")); ok {
			return n.value
		}
	}
	s = strings.TrimPrefix(s, naming.FindString(s))
	if len(s) > 1 && strings.IndexByte("\"'`", s[0]) >= 0 {
		if end := strings.IndexByte(s[1:], s[0]); end > 0 {
			return s[1 : 1+end]
		}
	}
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i]
	}
	return strings.TrimRight(s, ". ")
}
