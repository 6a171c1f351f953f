package gates

import (
	"encoding/json"
	"errors"
	"time"
)

// Span is a duration of 0 or more that somebody told, or that nobody did: then it is absent,
// which is not 0. The zero Span is absent.
type Span struct {
	d     time.Duration
	known bool
}

// SpanOf returns a known span; one below 0 is absent, since no time is.
func SpanOf(d time.Duration) Span {
	if d < 0 {
		return Span{}
	}
	return Span{d, true}
}

// D returns the duration; ok is false when it is absent.
func (s Span) D() (d time.Duration, ok bool) { return s.d, s.known }

// Or returns the duration, or d when it is absent.
func (s Span) Or(d time.Duration) time.Duration {
	if s.known {
		return s.d
	}
	return d
}

// MarshalJSON writes nanoseconds or null.
func (s Span) MarshalJSON() ([]byte, error) {
	if !s.known {
		return []byte("null"), nil
	}
	return json.Marshal(int64(s.d))
}

// UnmarshalJSON reads nanoseconds of 0 or more, or null.
func (s *Span) UnmarshalJSON(b []byte) error {
	var n *int64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	switch {
	case n == nil:
		*s = Span{}
	case *n < 0:
		return errors.New("a duration is below 0")
	default:
		*s = SpanOf(time.Duration(*n))
	}
	return nil
}
