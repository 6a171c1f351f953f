package endpoint

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// awaitEvery is the pause between two looks at a server that is not ready.
const awaitEvery = 500 * time.Millisecond

// Await waits until a server answers: it lists its models and generates a token. A
// refused connection, 429, 503 and a connection that breaks while the server loads are
// waited for, at most as long as within; whatever else comes, wrong answers included, is
// for the checks to judge and ends the wait. tell, if not nil, is told the reason each
// time that it changes.
func Await(ctx context.Context, t Target, o Options, within time.Duration, tell func(why string)) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	said := ""
	for {
		err := ready(ctx, t, o)
		if !waits(err) || ctx.Err() != nil {
			return nil
		}
		if err.Error() != said && tell != nil {
			said = err.Error()
			tell(said)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case <-deadline.C:
			f := *asFailure(err)
			f.What = fmt.Sprintf("not ready within %v: %s", within, f.What)
			return &f
		}
	}
}

// ready asks a server for its models and one token.
func ready(ctx context.Context, t Target, o Options) error {
	ep, err := Open(ctx, t, o)
	if err != nil {
		return err
	}
	defer ep.Close()
	return ep.Complete(ctx, Chat("Hello").MaxTokens(1)).Err()
}

// waits reports whether an error is that of a server which is not ready yet.
func waits(err error) bool {
	var f *Failure
	if !errors.As(err, &f) {
		return false
	}
	switch f.Kind {
	case Unreachable, Busy, BrokenOff:
		return true
	default:
		return false
	}
}
