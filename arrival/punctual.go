package arrival

import (
	"context"
	"runtime"
	"time"
)

// A timer wakes its goroutine late: by a tenth of a millisecond as a rule, by several on a
// busy machine. So the driver of an open loop sets its timer a little early and spends the
// rest yielding its processor, in a loop that looks at the clock.

// maxLead is how long before a request is due the driver stops sleeping, leadShare the
// share of the gap that this may be at most: of one processor it never takes more than
// that, at any rate.
const (
	maxLead   = time.Millisecond
	leadShare = 4
)

// lead returns for how long the driver yields before a request is due that comes so long
// after the last. With one processor it is not at all: a goroutine that is always ready
// keeps the network from being looked at.
func lead(gap time.Duration, processors int) time.Duration {
	if processors < 2 {
		return 0
	}
	return min(maxLead, gap/leadShare)
}

// waitClosely waits for an instant, the last part of the way without a timer, and reports
// whether it came before ctx ended.
func waitClosely(ctx context.Context, at time.Time, lead time.Duration) bool {
	return waitUntil(ctx, at.Add(-lead)) && yieldUntil(ctx, at)
}

// maxStill is how often in a row the clock may read the same before it is taken to stand
// still, as a virtual one does while somebody runs.
const maxStill = 16

// yieldUntil yields the processor until an instant. Where the clock stands still it waits
// with a timer.
func yieldUntil(ctx context.Context, at time.Time) bool {
	last, still := time.Now(), 0
	for last.Before(at) && ctx.Err() == nil && still < maxStill {
		runtime.Gosched()
		now := time.Now()
		if still++; now.After(last) {
			last, still = now, 0
		}
	}
	return waitUntil(ctx, at)
}

// waitUntil waits for an instant with a timer and reports whether it came before ctx ended.
func waitUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
