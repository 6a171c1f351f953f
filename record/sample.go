package record

import (
	"encoding/json"
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
	Warmup  bool
	Outcome Outcome
}

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
	if n, ok := s.CachedTokens.N(); ok && n < 0 {
		bad("%d cached tokens", n)
	}
	if s.Outcome == OK && !(s.Sent <= s.First && s.First <= s.Last && s.Last <= s.End && s.First > 0) {
		bad("sent %v, first %v, last %v, end %v are not in order", s.Sent, s.First, s.Last, s.End)
	}
	return errors.Join(errs...)
}

// sampleColumns names the columns of a row, in order.
var sampleColumns = []string{
	"session", "turn", "due_ns", "sent_ns", "first_ns", "first_answer_ns", "last_ns", "end_ns", "max_gap_ns",
	"prompt_tokens", "output_tokens", "cached_tokens", "chunks", "coalesced", "fresh", "warmup", "outcome",
}

func (s Sample) row() []any {
	bit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return []any{
		s.Session, s.Turn, int64(s.Due), int64(s.Sent), int64(s.First), int64(s.FirstAnswer), int64(s.Last), int64(s.End), int64(s.MaxGap),
		s.PromptTokens.Or(-1), s.OutputTokens, s.CachedTokens.Or(-1), s.Chunks, s.Coalesced, bit(s.Fresh), bit(s.Warmup), s.Outcome,
	}
}

// parseRow reads a row back; row holds one raw JSON value per column.
func parseRow(row []json.RawMessage) (Sample, error) {
	if len(row) != len(sampleColumns) {
		return Sample{}, fmt.Errorf("a sample has %d columns, want %d", len(row), len(sampleColumns))
	}
	var n [16]int64
	for i := range n {
		if err := json.Unmarshal(row[i], &n[i]); err != nil {
			return Sample{}, fmt.Errorf("sample column %s: %w", sampleColumns[i], err)
		}
	}
	s := Sample{
		Session: int(n[0]), Turn: int(n[1]), Due: time.Duration(n[2]), Sent: time.Duration(n[3]), First: time.Duration(n[4]),
		FirstAnswer: time.Duration(n[5]), Last: time.Duration(n[6]), End: time.Duration(n[7]), MaxGap: time.Duration(n[8]),
		OutputTokens: int(n[10]), Chunks: int(n[12]), Coalesced: int(n[13]), Fresh: n[14] == 1, Warmup: n[15] == 1,
	}
	if n[9] >= 0 {
		s.PromptTokens = gates.CountOf(int(n[9]))
	}
	if n[11] >= 0 {
		s.CachedTokens = gates.CountOf(int(n[11]))
	}
	if err := json.Unmarshal(row[16], &s.Outcome); err != nil {
		return Sample{}, fmt.Errorf("sample column outcome: %w", err)
	}
	return s, s.check()
}
