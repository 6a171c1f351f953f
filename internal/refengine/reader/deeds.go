package reader

import (
	"regexp"
	"strconv"
	"strings"
)

// do carries out one errand. The order matters: the more particular an instruction
// is, the earlier it is tried.
func (c *conversation) do(e errand, bare bool, p *prose) (string, bool) {
	if tells.MatchString(e.low) {
		return c.essay(e, p), true
	}
	for _, try := range []func(errand, bool) (string, bool){
		spell, wordwork, count, c.enumerate, c.parameterOrder, arithmetic, recite, c.toolTalk, c.recount, say,
	} {
		if a, ok := try(e, bare); ok {
			return a, a != ""
		}
	}
	if wantsProse.MatchString(e.low) {
		return p.text(proseWords(p)), true
	}
	if object := askedFor(e.low); object != "" && wantsFact.MatchString(e.low) {
		return "I do not know the " + object + ".", true
	}
	return "", false
}

// tells recognises errands that only prose can do.
var tells = regexp.MustCompile(`^(explain|describe|summari[sz]e|discuss|elaborate|outline|compose|continue|translate|why)\b|^(write|compose|create|generate|produce|tell|draft)\b.*\b(story|stories|tale|paragraphs?|essay|poem|haiku|article|letter|summary|description|review|speech|joke|dialogue|prose)\b`)

var wantsFact = regexp.MustCompile(`\?$|^(what|which|how|who|where|when|tell|give|state|report|return|recall|provide|name|repeat|say|show|print|output|reply|respond|answer|find)\b`)

// essay writes prose, and after it what the same sentence also asks for.
func (c *conversation) essay(e errand, p *prose) string {
	text := p.text(proseWords(p))
	if cut := asideRE.FindStringIndex(e.text); cut != nil {
		if n, ok := c.find(e.text[cut[1]:]); ok {
			text += "\n\n" + n.tell()
		}
	}
	return text
}

func proseWords(p *prose) int { return 190 + p.rng.IntN(50) } // about 300 tokens

var wantsProse = regexp.MustCompile(`^(write|compose|create|generate|produce|tell|give|continue|why|how (do|does|did|can|could|to|is|are|was))\b`)

// toolTalk skips sentences about calling tools: they are for the caller of tools.
func (c *conversation) toolTalk(e errand, _ bool) (string, bool) {
	return "", len(c.Tools) > 0 && c.mentionsTool(e.low) && !strings.HasSuffix(e.low, "?") && !asideRE.MatchString(e.text)
}

// asideRE finds the question at the end of an instruction to do something first.
var asideRE = regexp.MustCompile(`(?i)(?:,|\band\b|\bthen\b)+ (?:then )?(?:tell me|report|say|give me|answer with|answer|reply with|state|return)\b`)

// recount answers from what was read.
func (c *conversation) recount(e errand, bare bool) (string, bool) {
	found := c.asked(e.text)
	if cut := asideRE.FindStringIndex(e.text); len(found) == 0 && cut != nil {
		found = c.asked(e.text[cut[1]:])
	}
	var told []string
	for _, n := range found {
		if bare {
			told = append(told, n.value)
		} else {
			told = append(told, n.tell())
		}
	}
	return strings.Join(told, "\n"), len(told) > 0
}

var (
	conjoined = regexp.MustCompile(`(?i)(?:,|,? and)+ (?:the|my|your) `)
	allOf     = regexp.MustCompile(`(?i)\b(?:all|both|every|each)(?: of)?(?: the)?(?: \w+)? (\w+)`)
)

// asked returns the notes that one sentence asks for: usually one, more for "the
// blue code and the red code" and for "all three codes".
func (c *conversation) asked(text string) []note {
	if parts := conjoined.Split(text, -1); len(parts) > 1 {
		var all []note
		for _, part := range parts {
			if n, ok := c.find(part); ok {
				all = append(all, n)
			}
		}
		if len(all) == len(parts) {
			return all
		}
	}
	if m := allOf.FindStringSubmatch(text); m != nil {
		if all := c.every(stem(strings.ToLower(m[1]))); len(all) > 1 {
			return all
		}
	}
	if n, ok := c.find(text); ok {
		return []note{n}
	}
	return nil
}

// every returns the latest note of each description with that word in it.
func (c *conversation) every(word string) []note {
	var all []note
	place := make(map[string]int)
	for _, n := range c.notes {
		if !has(n.core, word) {
			continue
		}
		key := strings.Join(n.core, " ")
		if i, known := place[key]; known {
			all[i] = n
			continue
		}
		place[key] = len(all)
		all = append(all, n)
	}
	return all
}

var spelling = regexp.MustCompile(`(?i)\b(?:backwards?|reversed?|in reverse)\b`)

var spellWord = regexp.MustCompile("(?i)(?:spell|write|reverse|say|spelled)(?: out)?(?: the)?(?: (?:word|string|letters of|text))* [\"'`]?([^\\s\"'`.,?]+)[\"'`]?")

// spell turns a word around.
func spell(e errand, _ bool) (string, bool) {
	if !spelling.MatchString(e.low) {
		return "", false
	}
	word := quoted(e.text)
	if word == "" {
		m := spellWord.FindStringSubmatch(e.text)
		if m == nil {
			return "", false
		}
		word = m[1]
	}
	r := []rune(word)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r), true
}

var counting = regexp.MustCompile(`\b(?:count (?:up |down |backwards )?|(?:list|write) the numbers )(?:from )?(\d+) (?:up |down )?to (\d+)`)

const maxLines = 5000 // of one list

// count counts, one number per line unless commas or spaces are asked for.
func count(e errand, _ bool) (string, bool) {
	m := counting.FindStringSubmatch(e.low)
	if m == nil {
		return "", false
	}
	from, err1 := strconv.Atoi(m[1])
	to, err2 := strconv.Atoi(m[2])
	if err1 != nil || err2 != nil {
		return "", false
	}
	sep := "\n"
	if strings.Contains(e.low, "comma") {
		sep = ", "
	}
	var b strings.Builder
	step, n := 1, to-from
	if n < 0 {
		step, n = -1, -n
	}
	for i := range min(n+1, maxLines) {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(strconv.Itoa(from + i*step))
	}
	return b.String(), true
}

var (
	listing = regexp.MustCompile(`\b(\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty) (?:[a-z-]+ ){0,3}?(lines|items|times|entries|bullet points|bullets|rows|words|names|things|points|sentences|fruits|colou?rs|animals|objects|nouns)\b`)
	verbing = regexp.MustCompile(`\b(list|lists|repeat|repeats|write|give|produce|print|output|make|add|create|line)\b`)
)

var numerals = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "twenty": 20, "thirty": 30}

// listWords are the words of a listing instruction that do not name what is listed.
var listWords = set(`list line item time entry entrie bullet point row numbered number each containing contain contains include including
	repeating per separate own new every followed long short same followed numberes new write give produce make add create consisting put first then`)

// enumerate writes the lines of "a numbered list of 20 lines, each with the code".
func (c *conversation) enumerate(e errand, bare bool) (string, bool) {
	m := listing.FindStringSubmatch(e.low)
	if m == nil || !verbing.MatchString(e.low) {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		n = numerals[m[1]]
	}
	item := quoted(e.text)
	for _, text := range []string{holding.FindString(e.text), e.text, perLine.FindString(c.last)} {
		if item != "" {
			break
		}
		if found, ok := best(c.notes, listed(text, m[1]), anywhere); ok {
			item = found.value
		}
	}
	return c.lines(min(n, maxLines), item, bare), true
}

var (
	holding = regexp.MustCompile(`(?i)\b(?:contain\w*|repeat\w*|includ\w*|mention\w*|stat(?:e|es|ing)|ending (?:in|with)|with)\b.*$`)
	perLine = regexp.MustCompile(`(?i)[^.\n]*\b(?:each|every) (?:line|item|one|entry)\b[^.\n]*`)
)

// listed returns the words of a listing instruction that describe what is listed.
func listed(text, count string) []string {
	var core []string
	for _, w := range unfilled(keywords(text)) {
		if !listWords[w] && w != count {
			core = append(core, w)
		}
	}
	return core
}

// lines writes a numbered list. Each line says something of its own, so that the
// list is no loop.
func (c *conversation) lines(n int, item string, bare bool) string {
	p := newProse(c.Origin ^ 1)
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(i))
		b.WriteString(". ")
		b.WriteString(item)
		switch {
		case item == "":
			b.WriteString(p.noun())
		case !bare:
			b.WriteString(p.expand(" for the {a} {n}"))
		}
	}
	return b.String()
}

// parameterOrder names the parameters of a tool in the order of its declaration.
func (c *conversation) parameterOrder(e errand, _ bool) (string, bool) {
	if len(c.Tools) == 0 || !strings.Contains(e.low, "order") ||
		!strings.Contains(e.low, "parameter") && !strings.Contains(e.low, "propert") && !strings.Contains(e.low, "argument") && !strings.Contains(e.low, "key") {
		return "", false
	}
	t := c.Tools[0]
	for _, other := range c.Tools {
		if strings.Contains(e.text, other.Name) {
			t = other
			break
		}
	}
	var names []string
	for _, p := range parameters(t.Parameters) {
		names = append(names, p.name)
	}
	return strings.Join(names, ", "), true
}
