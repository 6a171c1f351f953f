package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"infbench/gates"
)

// End is how a stream ended.
type End string

// The ends.
const (
	Done       End = "done"        // [DONE] was read
	Closed     End = "closed"      // a clean end of the body without [DONE]
	StayedOpen End = "stayed_open" // finish_reason or [DONE] was read, and the connection stayed open
	Failed     End = "failed"      // see Answer.Failure
	Whole      End = "whole"       // not a stream
	HungUp     End = "hung_up"     // dropped by [Request.HangUp]
)

// ToolCall is one call that the model made, its streamed pieces joined.
type ToolCall struct {
	ID, Name, Arguments string
}

// Usage is what the server counted. Absent is unknown, not 0.
type Usage struct {
	Prompt, Completion, Total, Cached, Reasoning gates.Count
}

// Alternative is one entry of the top logprobs.
type Alternative struct {
	Token   string
	Logprob float64
	// Bytes are the token's own, which may be half a character; "" where the server does
	// not write them.
	Bytes string
}

// TokenLogprob is the logprob of one emitted token.
type TokenLogprob struct {
	Alternative
	Top []Alternative
}

// Mark is one event that carried text.
type Mark struct {
	// At is the time of the read, Read its number.
	At   time.Duration
	Read int32
	// Tokens is the number of tokens since the mark before, which a parser may have held
	// back until now; 0 when the server does not say.
	Tokens int32
}

// Timing holds the times of one request on one monotonic clock that began at
// Began, just before the request was handed to the transport.
type Timing struct {
	Began time.Time
	// Wrote is when the request had been written, Headers when the response's headers
	// came; servers send those before the first token, so neither is TTFT.
	Wrote, Headers time.Duration
	// FirstEvent is the first event of any kind, FirstToken the first with generated
	// text in any channel, FirstAnswer the first that is not reasoning, LastToken the
	// last with text, Ended the end of the stream. They are 0 where nothing came.
	FirstEvent, FirstToken, FirstAnswer, LastToken, Ended time.Duration
	// Fresh says that a connection had to be opened, Dialled how long that took.
	Fresh   bool
	Dialled time.Duration
	// Resent says that the request was written twice: the server had closed the idle
	// connection that it was first written to.
	Resent bool
	// Reads counts the reads of the body, Bytes its length.
	Reads, Bytes int
	// Marks holds one entry for each event with text.
	Marks []Mark
	// Engine is the engine's own timing of this request, where it reports one.
	Engine EngineTiming
}

// EngineTiming is what an engine reports of one request: llama.cpp under "timings", vLLM with
// per-request metrics under "metrics". It is a claim: what is below 0, no number or longer
// than a day is dropped, and nothing is worked out with it before it was compared with what
// was seen. Zero where absent.
type EngineTiming struct {
	PromptTokens, CachedTokens, OutputTokens gates.Count
	// Drafted and Accepted count tokens of speculative decoding.
	Drafted, Accepted gates.Count
	// Queue runs to the first step; it may be 0 and known.
	Queue gates.Span
	// Prefill runs from there to the first token, Decode from there to the last.
	Prefill, Decode time.Duration
}

// Answer is everything that came back for one request.
type Answer struct {
	Content, Reasoning, Refusal string
	Calls                       []ToolCall
	// Finish is the finish reason, "" when none came.
	Finish   string
	Usage    Usage
	Logprobs []TokenLogprob
	// ID and Model are what the server wrote into the answer.
	ID, Model string
	// Status is the HTTP status, 0 when none came.
	Status int
	End    End
	// Failure says why there is no complete answer; nil when there is one.
	Failure *Failure
	// Broke lists what broke the contract of an answer.
	Broke  []Breach
	Timing Timing
	// ReasoningField is the name under which reasoning came.
	ReasoningField string
	// Comments counts SSE comment lines.
	Comments int

	raw    []byte // see [Exchange]
	hidden bool
}

// Err returns the failure as an error, nil when the answer is complete.
func (a Answer) Err() error {
	if a.Failure != nil {
		return a.Failure
	}
	return nil
}

// Visible returns the content without a leading think block: what a person would
// take for the answer.
func (a Answer) Visible() string {
	text := strings.TrimSpace(a.Content)
	if rest, ok := strings.CutPrefix(text, "<think>"); ok {
		if _, after, ok := strings.Cut(rest, "</think>"); ok {
			return strings.TrimSpace(after)
		}
	}
	return text
}

// Everything returns all generated text, channel after channel.
func (a Answer) Everything() string {
	parts := []string{a.Reasoning, a.Content, a.Refusal}
	for _, c := range a.Calls {
		parts = append(parts, c.Name, c.Arguments)
	}
	return strings.Join(parts, "")
}

// CutShort reports whether the answer ended at the token limit or was broken off.
func (a Answer) CutShort() bool { return a.Finish == "length" || a.Failure != nil }

// Says quotes the answer for evidence: the visible answer, or what came in its place.
func (a Answer) Says() string {
	const most = 160
	switch {
	case a.Visible() != "":
		return gates.Quote(a.Visible(), most)
	case len(a.Calls) > 0:
		return fmt.Sprintf("a call of %s with %s", gates.Quote(a.Calls[0].Name, 40), gates.Quote(a.Calls[0].Arguments, most))
	case a.Reasoning != "":
		return fmt.Sprintf("nothing but reasoning: %s", gates.Quote(a.Reasoning, most))
	}
	return fmt.Sprintf("nothing (finish_reason %s)", gates.Quote(a.Finish, 20))
}

// Breach is one broken rule of the contract between an API and its clients.
type Breach struct {
	// Hard says that clients lose text or hang by it.
	Hard bool
	// What says what was seen, safe to print.
	What string
}

// broke notes a breach once; the first few suffice, and a hard one displaces a soft.
func (a *Answer) broke(hard bool, format string, args ...any) {
	const most = 8
	b := Breach{hard, gates.Printable(fmt.Sprintf(format, args...), 200)}
	if slices.Contains(a.Broke, b) {
		return
	}
	if len(a.Broke) == most {
		i := slices.IndexFunc(a.Broke, func(b Breach) bool { return !b.Hard })
		if !hard || i < 0 {
			return
		}
		a.Broke = slices.Delete(a.Broke, i, i+1)
	}
	a.Broke = append(a.Broke, b)
}

func (a *Answer) fail(f *Failure) {
	if a.Failure == nil {
		a.Failure = f
		a.End = Failed
	}
}
