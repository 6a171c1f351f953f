package record

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"infbench/gates"
)

// Outcome is how one measured request ended.
type Outcome string

// The outcomes. Only OK enters a figure; every other one stays in the denominators.
const (
	OK         Outcome = "ok"
	Rejected   Outcome = "rejected"     // 429 or 503
	HTTPError  Outcome = "http_error"   // any other status but 200
	Unreached  Outcome = "unreached"    // no connection, or reset before the answer
	TimedOut   Outcome = "timed_out"    // a deadline of the client
	Cut        Outcome = "cut"          // the stream ended without its terminator
	ServerSaid Outcome = "server_error" // an error object inside a 200 stream
	Empty      Outcome = "empty"        // no generated text
	Degenerate Outcome = "degenerate"   // text that no healthy model gives
	Wrong      Outcome = "wrong"        // the answer contradicts the request
	Cancelled  Outcome = "cancelled"    // by the person
)

var outcomes = []Outcome{OK, Rejected, HTTPError, Unreached, TimedOut, Cut, ServerSaid, Empty, Degenerate, Wrong, Cancelled}

// Sample is one measured request. Times are offsets from the level's origin on one
// monotonic clock. It proves nothing by itself and cannot be written on its own.
type Sample struct {
	Session, Turn int
	// Due is when the request was to start, Sent just before it was written.
	Due, Sent time.Duration
	// First is the read that brought the first generated token of any channel,
	// FirstAnswer the first that is not reasoning, Last the last generated token,
	// End the end of the stream. They are 0 where nothing came.
	First, FirstAnswer, Last, End time.Duration
	OutputTokens                  int
	// PromptTokens and CachedTokens are absent where nobody counted them.
	PromptTokens, CachedTokens gates.Count
	// MaxGap is the longest time between two reads that carried text.
	MaxGap time.Duration
	// Chunks is the number of events with text, Coalesced how many of them shared a
	// read with an earlier one.
	Chunks, Coalesced int
	// Fresh says that the request had to open a connection.
	Fresh bool
	// Warmup says that the request is recorded and excluded from every figure.
	Warmup bool
	// Block counts the repeats of a level's load from 0.
	Block int
	// Cell is the kind of request of a frozen workload, from 0.
	Cell int
	// Dialled is the time that opening a connection took, 0 where one was used again.
	Dialled time.Duration
	// Code says whether the answer holds the code that its prompt asked for.
	Code    Code
	Outcome Outcome
	// EngineQueue, EnginePrefill and EngineDecode are what the engine told of this request
	// alone: to its first step, from there to its first token, from there to its last.
	EngineQueue, EnginePrefill, EngineDecode gates.Span
}

// maxBlocks bounds the repeat blocks of a level.
const maxBlocks = 1000

// Code says how an answer stands to the code that its prompt asked for.
type Code int

// The zero Code is of a prompt that asked for none, or of a record that does not tell.
const (
	CodeUnasked Code = iota
	CodeHeld
	CodeMissing
)

func (s Sample) check() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if !slices.Contains(outcomes, s.Outcome) {
		bad("unknown outcome %.30q", string(s.Outcome))
	}
	if s.Due < 0 || s.Sent < s.Due || s.End < s.Sent {
		bad("due %v, sent %v, end %v are not in order", s.Due, s.Sent, s.End)
	}
	if s.PromptTokens.Or(0) < 0 || s.OutputTokens < 0 || s.Chunks < 0 || s.Coalesced < 0 || s.MaxGap < 0 {
		bad("a count is negative")
	}
	if s.Block < 0 || s.Block >= maxBlocks || s.Cell < 0 || s.Dialled < 0 || s.Code < CodeUnasked || s.Code > CodeMissing {
		bad("block %d, dialled in %v, code %d", s.Block, s.Dialled, s.Code)
	}
	if n, ok := s.CachedTokens.N(); ok && n < 0 {
		bad("%d cached tokens", n)
	}
	if s.Outcome == OK && !(s.Sent <= s.First && s.First <= s.Last && s.Last <= s.End && s.First > 0) {
		bad("sent %v, first %v, last %v, end %v are not in order", s.Sent, s.First, s.Last, s.End)
	}
	return errors.Join(errs...)
}
