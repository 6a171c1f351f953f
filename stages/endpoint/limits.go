package endpoint

import "time"

// Limits bound what one request may take. [DefaultLimits] fits a large model.
type Limits struct {
	// Connect bounds dialling and the TLS handshake.
	Connect time.Duration
	// First bounds the time to the first event, prefill and queue included; comments that
	// a server sends meanwhile do not extend it.
	First time.Duration
	// Gap bounds the silence between two reads after the first event.
	Gap time.Duration
	// Settle bounds the time from finish_reason to [DONE] or the close, and from [DONE] to
	// the close: an endpoint that keeps the connection open has not ended the stream.
	Settle time.Duration
	// Total bounds the request.
	Total time.Duration
	// EventBytes bounds one event, AnswerBytes one whole stream with all around its text.
	EventBytes, AnswerBytes int
}

// DefaultLimits returns the limits that hold when nothing else is said.
func DefaultLimits() Limits {
	return Limits{
		Connect: 10 * time.Second, First: 2 * time.Minute, Gap: time.Minute, Settle: 5 * time.Second, Total: 15 * time.Minute,
		EventBytes: 4 << 20, AnswerBytes: 64 << 20,
	}
}

// Within returns the limits with no wait longer than d, and no request longer than ten
// of them.
func (l Limits) Within(d time.Duration) Limits {
	if d > 0 {
		l.Connect, l.First, l.Gap, l.Total = min(l.Connect, d), min(l.First, d), min(l.Gap, d), min(l.Total, 10*d)
		l.Settle = min(l.Settle, d)
	}
	return l
}
