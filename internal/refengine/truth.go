package refengine

import (
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"
)

// A Truth is what really happened to one request. Instants are nanoseconds on one
// monotonic clock that started at Epoch. Stamps are taken immediately before the
// bytes are handed to the connection.
type Truth struct {
	ID           string        `json:"id"` // as in the response
	EpochUnix    int64         `json:"epoch_unix_ns"`
	Arrival      time.Duration `json:"arrival_ns"`         // the handler was entered
	Queue        time.Duration `json:"queue_ns"`           // arrival to the first step
	FirstDue     time.Duration `json:"first_token_due_ns"` // end of the step that made it
	FirstToken   time.Duration `json:"first_token_ns"`     // first visible text, 0 if there was none
	LastToken    time.Duration `json:"last_token_ns"`      // last visible text, 0 if there was none
	End          time.Duration `json:"end_ns"`             // the response was complete, or given up
	PromptTokens int           `json:"prompt_tokens"`
	CachedTokens int           `json:"cached_tokens"`
	OutputTokens int           `json:"output_tokens"` // the end-of-message token included
	DepthTokens  int           `json:"depth_tokens"`  // KV held at the end
	Preemptions  int           `json:"preemptions"`
	Stream       bool          `json:"stream"`
	FinishReason string        `json:"finish_reason"` // "abort" when the client went away
}

// maxTruths bounds what an engine remembers; the sink gets every line.
const maxTruths = 1 << 16

// A truthLog keeps the latest truths and writes each to the sink.
type truthLog struct {
	mu   sync.Mutex
	sink io.Writer
	kept []Truth
	next int // where the ring is overwritten once it is full
}

func (l *truthLog) add(t Truth) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) < maxTruths {
		l.kept = append(l.kept, t)
	} else {
		l.kept[l.next] = t
		l.next = (l.next + 1) % maxTruths
	}
	if l.sink == nil {
		return
	}
	line, err := json.Marshal(t)
	if err != nil {
		panic("refengine: truth does not marshal: " + err.Error())
	}
	// A full disk must not stop the engine; Truths still has the line.
	_, _ = l.sink.Write(append(line, '\n'))
}

// Truths returns the requests that ended so far, the oldest first; of more than
// 65,536 the latest.
func (e *Engine) Truths() []Truth {
	e.truths.mu.Lock()
	defer e.truths.mu.Unlock()
	return slices.Concat(e.truths.kept[e.truths.next:], e.truths.kept[:e.truths.next])
}
