package evidence

import (
	"math"
	"slices"
	"strings"
	"time"

	"infbench/stages/endpoint"
)

// Exchange is one request of a check and what came back.
type Exchange struct {
	// Number counts the requests of a bundle from 1 in the order in which they began.
	Number int
	// Began is when the request began, counted from the first one of the bundle.
	Began time.Duration
	// Stream says that the answer was read as a stream, HangUp after how many events with
	// text it was dropped; 0 is never.
	Stream bool
	HangUp int
	// Again says that an earlier check of the run had asked it, and this one judged it too.
	Again bool
	// Body is the request. It is empty and NoBody is set where it was too large to be kept.
	Body   string
	NoBody bool
	// Answer is what came; the day and the hour are not in its times.
	Answer endpoint.Answer
	// Raw is the beginning of a body that was no answer.
	Raw string
	// Cut says that the answer was too large, and what is here is its beginning.
	Cut bool
	// Redacted says that the redactor changed the request or the answer.
	Redacted bool
}

// Ended returns when the exchange ended, on the clock of Began.
func (x Exchange) Ended() time.Duration { return x.Began + x.Answer.Timing.Ended }

// What one exchange may take: half of what a tape may, at most.
const (
	maxBody     = 8 << 20
	maxText     = 1 << 20 // of each channel
	maxRaw      = 64 << 10
	maxCalls    = 256
	maxLogprobs = 1 << 20 // bytes, about
	maxMarks    = 256
	maxName     = 1 << 10 // ids and names
)

// Of returns what is kept of an exchange that was observed, through the redactor: what is
// to be compared with a bundle went the same way.
func Of(x endpoint.Exchange, redact func(string) string) Exchange { return take(x).redacted(redact) }

// take copies what is kept of an exchange that was observed. Began is not set yet: the
// time of day stays in the answer until the tape is read.
func take(x endpoint.Exchange) Exchange {
	out := Exchange{Number: int(x.Number), Stream: x.Stream, HangUp: x.HangUp, Again: x.Again, Redacted: x.Redacted, Answer: x.Answer}
	a := &out.Answer
	cut := func(to *string, most int) {
		if len(*to) > most {
			*to = strings.Clone((*to)[:most]) // a piece would hold on to the whole
			out.Cut = true
		}
	}
	if len(x.Body) > maxBody {
		out.NoBody = true
	} else {
		out.Body = string(x.Body)
	}
	out.Raw = string(x.Raw[:min(len(x.Raw), maxRaw)])
	for _, text := range []*string{&a.Content, &a.Reasoning, &a.Refusal} {
		cut(text, maxText)
	}
	for _, name := range []*string{&a.Finish, &a.ID, &a.Model, &a.ReasoningField} {
		cut(name, maxName)
	}
	a.Calls = nil
	room := maxText
	for i, c := range x.Answer.Calls {
		if out.Cut = out.Cut || i == maxCalls; i == maxCalls {
			break
		}
		cut(&c.ID, maxName)
		cut(&c.Name, maxName)
		cut(&c.Arguments, room)
		room -= len(c.Arguments)
		a.Calls = append(a.Calls, c)
	}
	a.Logprobs = asWritten(a.Logprobs)
	if n := logprobsWithin(a.Logprobs, maxLogprobs); n < len(a.Logprobs) {
		a.Logprobs, out.Cut = append([]endpoint.TokenLogprob(nil), a.Logprobs[:n]...), true
	}
	a.Timing.Marks = thin(a.Timing.Marks)
	return out
}

// asWritten returns the logprobs as a file gives them back: what is no number there is NaN,
// whichever kind of it it was.
func asWritten(list []endpoint.TokenLogprob) []endpoint.TokenLogprob {
	infinite := func(a endpoint.Alternative) bool { return math.IsInf(a.Logprob, 0) }
	if !slices.ContainsFunc(list, func(l endpoint.TokenLogprob) bool {
		return infinite(l.Alternative) || slices.ContainsFunc(l.Top, infinite)
	}) {
		return list
	}
	list = slices.Clone(list) // whoever asked has the other one
	for i := range list {
		l := &list[i]
		l.Top = slices.Clone(l.Top)
		for _, a := range append(pointers(l.Top), &l.Alternative) {
			if infinite(*a) {
				a.Logprob = math.NaN()
			}
		}
	}
	return list
}

func pointers[T any](list []T) (out []*T) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// size is about what an exchange takes in memory.
func (x Exchange) size() int {
	a := x.Answer
	n := 1<<10 + len(x.Body) + len(x.Raw) + len(a.Content) + len(a.Reasoning) + len(a.Refusal) + sizeOf(a.Logprobs) + 16*len(a.Timing.Marks)
	for _, c := range a.Calls {
		n += 48 + len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	return n
}

func sizeOf(list []endpoint.TokenLogprob) (n int) {
	for _, l := range list {
		n += sizeOfOne(l)
	}
	return n
}

func sizeOfOne(l endpoint.TokenLogprob) int {
	n := 48 + len(l.Token)
	for _, t := range l.Top {
		n += 24 + len(t.Token)
	}
	return n
}

// logprobsWithin returns how many entries fit.
func logprobsWithin(list []endpoint.TokenLogprob, room int) int {
	for i, l := range list {
		if room -= sizeOfOne(l); room < 0 {
			return i
		}
	}
	return len(list)
}

// thin returns a copy of the marks, at most maxMarks of them: the first, the last, and
// between them each so many-th.
func thin(marks []endpoint.Mark) []endpoint.Mark {
	if len(marks) <= maxMarks {
		return append([]endpoint.Mark(nil), marks...)
	}
	out := make([]endpoint.Mark, maxMarks)
	for i := range out {
		out[i] = marks[i*(len(marks)-1)/(maxMarks-1)]
	}
	return out
}
