package reader

import (
	"regexp"
	"strings"
)

var (
	callWords = regexp.MustCompile(`\b(call|use|invoke|run|execute|using|calling|look up|lookup|query|fetch)\b`)
	toolWords = regexp.MustCompile(`\b(use|using|call|calling|invoke|with|through|via) (?:the |a |one of the |your |an appropriate |both |two |available )*(?:right |given |provided |available |appropriate |matching )?(tools?|functions?)\b|\blook (?:it |this |that |them )?up\b`)
	forbids   = regexp.MustCompile(`\b(?:do not|don't|never|without|no need to|not|instead of) (?:\w+ ){0,2}?(?:call|calling|use|using|invoke|invoking)\b|\bno tools?\b|\bplain text\b|\bwithout (?:a |any |the )?tools?\b`)
	insists   = regexp.MustCompile(`\b(always|every|each|only|must)\b[^.\n]*\b(call|calling|use|using|tool|function)\b`)
	several   = regexp.MustCompile(`\b(two|both|parallel|twice|three|each|separate(?:ly)?|respectively|at once|and for|same time|simultaneously)\b`)
	stages    = regexp.MustCompile(`(?i)(?:[,;.]|\band\b)? *\b(?:and then|then|after that,?|afterwards,?) (?:please )?(?:call|use|run|invoke)\b`)
	thenCall  = regexp.MustCompile(`(?i)\b(?:and then|then|before) (?:please )?(?:calling|call|use|using|run|invoke|invoking)\b`)
)

// calls decides whether tools are called now, and how. The text goes before the
// calls, where one was asked for.
func (c *conversation) calls() (text string, calls []Call) {
	if len(c.Tools) == 0 {
		return "", nil
	}
	if c.Choice == Always {
		return "", c.limit(c.forced())
	}
	segment, ok := c.callRequest()
	if !ok {
		return "", nil
	}
	return c.preface(segment), c.limit(c.compose(segment))
}

func (c *conversation) limit(calls []Call) []Call {
	if c.OneCall && len(calls) > 1 {
		return calls[:1]
	}
	return calls
}

// forced calls the named tool, or the one that suits best.
func (c *conversation) forced() []Call {
	if c.Named == "" {
		return c.compose(c.last)
	}
	for _, t := range c.Tools {
		if t.Name == c.Named {
			call, _ := c.callOf(t, c.last)
			return []Call{call}
		}
	}
	return nil
}

// callRequest returns the part of the conversation that asks for a call now.
func (c *conversation) callRequest() (string, bool) {
	low := fold(instructions(c.last))
	if forbids.MatchString(low) {
		return "", false
	}
	always := insists.MatchString(fold(c.standing())) && c.standingTool()
	if c.after == 0 {
		first, _ := c.stage(0)
		return first, always || c.asksForTool(low) || c.suits(low)
	}
	// A tool has answered. The user may have asked for more than one step, or a
	// standing instruction may go on as long as results name something new.
	if next, ok := c.stage(c.callTurns()); ok {
		return next, true
	}
	if always && c.goesOn() {
		return c.standing(), true
	}
	return "", false
}

// maxInstructions is how much of a message is searched for what it wants. What
// lies between the ends of a longer one is material.
const maxInstructions = 8192

// instructions returns the two ends of a long message.
func instructions(s string) string {
	if len(s) <= maxInstructions {
		return s
	}
	return s[:maxInstructions/4] + "\n" + s[len(s)-maxInstructions*3/4:]
}

// standingTool says whether the system messages speak of calling.
func (c *conversation) standingTool() bool {
	low := fold(c.standing())
	return toolWords.MatchString(low) || callWords.MatchString(low) && c.mentionsTool(low)
}

func (c *conversation) asksForTool(low string) bool {
	return toolWords.MatchString(low) || c.mentionsTool(low) && callWords.MatchString(low) || c.mentionsTool(low) && strings.Contains(low, "(")
}

// suits says whether a question that the conversation does not answer is just what
// a tool is for: all words of its name occur in it.
func (c *conversation) suits(low string) bool {
	if !strings.HasSuffix(strings.TrimSpace(low), "?") {
		return false
	}
	if _, known := c.find(low[max(0, len(low)-maxSentence):]); known {
		return false
	}
	asked := keywords(low)
	for _, t := range c.Tools {
		all := true
		n := 0
		for _, w := range keywords(spaces(t.Name)) {
			if w == "get" || w == "fetch" || w == "lookup" || w == "search" || w == "find" || w == "query" || w == "current" {
				continue
			}
			n++
			all = all && has(asked, w)
		}
		if all && n > 0 {
			return true
		}
	}
	return false
}

// stage returns the k-th step of "call a, then call b".
func (c *conversation) stage(k int) (string, bool) {
	if len(c.last) > maxInstructions {
		return c.last, k == 0
	}
	cuts := stages.FindAllStringIndex(c.last, -1)
	if len(cuts) == 0 || !c.mentionsTool(fold(c.last[:cuts[0][0]])) {
		return c.last, k == 0
	}
	if k > len(cuts) {
		return "", false
	}
	start, end := 0, len(c.last)
	if k > 0 {
		start = cuts[k-1][0]
	}
	if k < len(cuts) {
		end = cuts[k][0]
	}
	return c.last[start:end], true
}

// callTurns counts the assistant's messages with calls since the last user message.
func (c *conversation) callTurns() int {
	n := 0
	for i := len(c.Messages) - 1; i >= 0 && c.Messages[i].Role != User; i-- {
		if len(c.Messages[i].Calls) > 0 {
			n++
		}
	}
	return n
}

// goesOn says whether the next call would differ from all before it.
func (c *conversation) goesOn() bool {
	for _, next := range c.compose(c.standing()) {
		for _, m := range c.Messages {
			for _, old := range m.Calls {
				if old.Name == next.Name && compact(old.Arguments) == compact(next.Arguments) {
					return false
				}
			}
		}
	}
	return true
}

// preface is the text before a call: "Say hello, then call …".
func (c *conversation) preface(segment string) string {
	cut := thenCall.FindStringIndex(segment)
	if cut == nil || c.mentionsTool(fold(segment[:cut[0]])) {
		return ""
	}
	head := strings.TrimRight(strings.TrimSpace(segment[:cut[0]]), ",;:")
	part := *c
	part.last, part.Tools = head, nil
	list, bare := part.errands()
	p := newProse(c.Origin ^ 3)
	for _, e := range list {
		if wantsProse.MatchString(e.low) && strings.Contains(e.low, "sentence") {
			return p.sentence()
		}
		if a, ok := part.do(e, bare, p); ok && len(a) < 400 {
			return a
		}
	}
	return "I will do that now."
}
