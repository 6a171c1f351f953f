package performance

import (
	"fmt"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// judge says how a request ended. Where the length was forced, text after the model's
// own end is meaningless: only what no engine emits by itself counts there.
func (w *work) judge(p prompt, a endpoint.Answer) (record.Outcome, string) {
	if f := a.Failure; f != nil {
		return outcomeOf(f), f.Error()
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
	if echo, seen := w.ep.Canaries().Judge(text, p.want, p.own...); echo == gates.Foreign {
		return record.Wrong, "the answer holds the code " + seen + " of another request"
	}
	if n, ok := a.Usage.Completion.N(); ok && n > w.c.OutputTokens+1 {
		return record.Wrong, fmt.Sprintf("usage claims %d tokens where at most %d could be made", n, w.c.OutputTokens)
	}
	if sameThroughout(text) {
		return record.Degenerate, "one or two characters for ever: " + gates.Quote(text, 24)
	}
	for _, s := range gates.Degenerate(text, gates.TextContext{CutShort: true}) {
		forcedToo := s.ID == "D2" || s.ID == "D4" || s.ID == "D6" || s.ID == "D7"
		if s.Hard && (forcedToo || !w.forced && s.ID != "D1") {
			return record.Degenerate, s.Detail
		}
	}
	return record.OK, ""
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

func outcomeOf(f *endpoint.Failure) record.Outcome {
	switch f.Kind {
	case endpoint.Busy:
		return record.Rejected
	case endpoint.Unreachable, endpoint.BadTLS:
		return record.Unreached
	case endpoint.TooSlow:
		return record.TimedOut
	case endpoint.BrokenOff, endpoint.TooLarge, endpoint.Malformed:
		return record.Cut
	case endpoint.SaidError:
		return record.ServerSaid
	case endpoint.Stopped:
		return record.Cancelled
	default:
		return record.HTTPError
	}
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
