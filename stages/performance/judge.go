package performance

import (
	"fmt"
	"path"
	"strings"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// Asked is what a request asked for, as far as its answer can be judged by that.
type Asked struct {
	// OutputTokens is the most that may come. Forced says that the engine was made to give
	// just so many: text after the model's own end is then meaningless, and only what no
	// engine emits by itself counts against it.
	OutputTokens int
	Forced       bool
	// Canary is the code that the prompt asks for, of the run's Canaries; both may be absent. Own
	// are other codes that stand in it.
	Canary   gates.Canary
	Own      []gates.Canary
	Canaries *gates.Canaries
	// Exact is for a load that is only one if every answer is as it was asked for: fewer
	// tokens, another model's name or a stream without [DONE] then are no answer. Model is
	// the name that was asked for.
	Exact bool
	Model string
}

// Judge says how a request ended, and why where it did not end well. A wrong word that is as
// likely as the right one is beyond it; so is a text that is sane and about something else,
// unless it lacks a code that was asked for, which only many answers together show.
func Judge(asked Asked, a endpoint.Answer) (record.Outcome, string) {
	if f := a.Failure; f != nil {
		return outcomeOf(f, a.Status), f.Error()
	}
	for _, b := range a.Broke {
		if b.Hard {
			return record.Cut, b.What
		}
	}
	text := a.Content + a.Reasoning
	if text == "" {
		return record.Empty, "no text on any channel"
	}
	if asked.Canaries != nil {
		if echo, seen := asked.Canaries.Judge(text, asked.Canary, asked.Own...); echo == gates.Foreign {
			return record.Wrong, "the answer holds the code " + seen + " of another request"
		}
	}
	if why := miscounted(asked, a); why != "" {
		return record.Wrong, why
	}
	if why := degenerate(asked, text); why != "" {
		return record.Degenerate, why
	}
	if asked.Exact {
		return inexact(asked, a)
	}
	return record.OK, ""
}

// miscounted says how the usage contradicts the stream that it came with.
func miscounted(asked Asked, a endpoint.Answer) string {
	n, counted := a.Usage.Completion.N()
	if !counted {
		return ""
	}
	sum, exact := 0, len(a.Timing.Marks) > 0
	for _, m := range a.Timing.Marks {
		sum += int(m.Tokens)
		exact = exact && m.Tokens > 0
	}
	const few = 8 // special tokens, and what a parser holds back
	switch {
	case n > asked.OutputTokens+1:
		return fmt.Sprintf("usage claims %d tokens where at most %d could be made", n, asked.OutputTokens)
	case n == 0:
		return fmt.Sprintf("usage claims no token, and %d events with text came", len(a.Timing.Marks))
	case exact && (2*n > 3*(sum+few) || 2*sum > 3*(n+few)):
		return fmt.Sprintf("usage claims %d tokens, and %d by its own account on the way", n, sum)
	}
	return ""
}

// degenerate says how a text is one that no healthy model gives, "" when it may be sane.
func degenerate(asked Asked, text string) string {
	if sameThroughout(text) {
		return "one or two characters for ever: " + gates.Quote(text, 24)
	}
	// A model that is made to go on after its own end may well say one word until then.
	if word := oneWord(text); word != "" && (!asked.Forced || asked.Exact) {
		return "one word for ever: " + gates.Quote(word, 24)
	}
	for _, s := range gates.Degenerate(text, gates.TextContext{CutShort: true}) {
		forcedToo := s.ID == "D2" || s.ID == "D4" || s.ID == "D6" || s.ID == "D7"
		if s.Hard && (forcedToo || !asked.Forced && s.ID != "D1") {
			return s.Detail
		}
	}
	return ""
}

// sameThroughout reports whether a text of some length holds at most two kinds of
// character: what NaN logits give, whatever the token limit.
func sameThroughout(text string) bool {
	var seen [2]rune
	kinds, n := 0, 0
	for _, r := range text {
		n++
		if kinds > 0 && r == seen[0] || kinds > 1 && r == seen[1] {
			continue
		}
		if kinds == 2 {
			return false
		}
		seen[kinds] = r
		kinds++
	}
	return n >= 16
}

// oneWord returns the word of which all of a text of some length consists, "" when there are
// others.
func oneWord(text string) string {
	const enough = 16
	first, n := "", 0
	for w := range strings.FieldsSeq(text) {
		if first == "" {
			first = w
		}
		if w != first {
			return ""
		}
		n++
	}
	if n < enough {
		return ""
	}
	return first
}

// inexact says how an answer that is sane is not the one that was asked for.
func inexact(asked Asked, a endpoint.Answer) (record.Outcome, string) {
	n, counted := a.Usage.Completion.N()
	if !counted {
		n = len(a.Timing.Marks) // each of which may hold several
	}
	switch {
	case a.End == endpoint.Closed:
		return record.Cut, "the stream ended without [DONE]"
	case n*100 < asked.OutputTokens*95 && (counted || a.Finish != "length"):
		return record.Wrong, fmt.Sprintf("it ended by itself after %d of %d tokens (finish_reason %s)", n, asked.OutputTokens, gates.Quote(a.Finish, 20))
	case asked.Forced && a.Finish != "length":
		return record.Wrong, fmt.Sprintf("it ended by itself although it was made to give %d tokens (finish_reason %s)", asked.OutputTokens, gates.Quote(a.Finish, 20))
	case asked.Model != "" && a.Model != "" && !sameModel(a.Model, asked.Model):
		return record.Wrong, fmt.Sprintf("the answer says that it is of %s", gates.Quote(a.Model, 80))
	}
	return record.OK, ""
}

// sameModel reports whether a name is that of the model that was asked for: servers add a
// date to it, or leave a folder out.
func sameModel(said, asked string) bool {
	return strings.HasPrefix(said, asked) || path.Base(said) == path.Base(asked)
}

// outcomeOf returns the outcome of a request that failed, before a status came or after.
func outcomeOf(f *endpoint.Failure, status int) record.Outcome {
	switch f.Kind {
	case endpoint.Busy:
		return record.Rejected
	case endpoint.Unreachable, endpoint.BadTLS:
		return record.Unreached
	case endpoint.TooSlow:
		return record.TimedOut
	case endpoint.BrokenOff:
		if status == 0 {
			return record.Unreached
		}
		return record.Cut
	case endpoint.TooLarge, endpoint.Malformed:
		return record.Cut
	case endpoint.SaidError:
		return record.ServerSaid
	case endpoint.Stopped:
		return record.Cancelled
	default:
		return record.HTTPError
	}
}

func (w *work) judge(p prompt, a endpoint.Answer) (record.Outcome, string) {
	return Judge(Asked{OutputTokens: p.output, Forced: w.forced, Canary: p.want, Own: p.own, Canaries: w.ep.Canaries()}, a)
}

func (w *work) outputTokens(a endpoint.Answer) int {
	switch w.source {
	case record.EngineUsage:
		return a.Usage.Completion.Or(0)
	case record.ClientTokenizer:
		if n, err := w.c.CountTokens(a.Content + a.Reasoning); err == nil {
			return n
		}
	default:
	}
	return len(a.Timing.Marks)
}
