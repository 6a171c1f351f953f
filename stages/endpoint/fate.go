package endpoint

import (
	"errors"
	"net/http"
)

// A Fate is how a request ended, as far as a check has to tell one end from another. What is
// broken is never a lack of ability: only what is declined may be taken for one.
type Fate uint8

// The fates.
const (
	// Answered: an answer came, whatever it holds.
	Answered Fate = iota
	// Declined: the server says that it does not take such a request, with a 4xx or 501.
	Declined
	// TurnedAway: the server has no room for it now, 429 or 503.
	TurnedAway
	// Broken: another 5xx, a connection that ended, an answer that nobody can read, silence.
	Broken
)

// FateOf returns the fate of a request that ended with err, which may be nil.
func FateOf(err error) Fate {
	var f *Failure
	switch {
	case err == nil:
		return Answered
	case !errors.As(err, &f):
		return Broken
	case f.Kind == Refused, f.Status == http.StatusNotImplemented:
		return Declined
	case f.Kind == Busy:
		return TurnedAway
	}
	return Broken
}

// Reason returns the server's own words about a failure, or what happened where it said
// nothing.
func Reason(err error) string {
	var f *Failure
	if errors.As(err, &f) && f.Said != "" {
		return f.Said
	}
	return err.Error()
}
