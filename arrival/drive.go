package arrival

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Slot is one request to be started.
type Slot struct {
	// N counts the requests of the run from 0, in the order in which they were started.
	N int
	// Session is the session of a closed loop, 0 in an open one.
	Session int
	// Turn counts the requests of the session from 0.
	Turn int
	// Due is when the request was to start, on the clock that Drive's origin began.
	Due time.Time

	received *time.Time
}

// Received says when the last byte of the answer came: a session's next think time counts
// from there, not from when the answer had been judged and do returned. It is called from
// do, on its goroutine, or not at all; in an open loop it does nothing.
func (s Slot) Received(at time.Time) {
	if s.received != nil {
		*s.received = at
	}
}

// Stop says when no further request starts. The first limit that is reached
// counts; 0 is no limit. At least one must be set unless the model ends by itself, as a
// burst and a replay do.
type Stop struct {
	After    time.Duration
	Requests int
}

// Drive starts do on time for every slot of the model, until a limit of stop is
// reached or ctx ends, and returns when all that it started have returned. It
// returns the instant at which it began and the number of requests started. Each
// do runs on its own goroutine in an open loop and on its session's in a closed
// one; a slow answer therefore never delays another request's start, and a late start
// never moves what is due after it. do is handed the driver's own context: the end of it
// means "finish up", not "was never due".
func Drive(ctx context.Context, m ArrivalModel, stop Stop, do func(context.Context, Slot)) (origin time.Time, started int, err error) {
	origin = time.Now()
	_, ends := m.m.(ending)
	ends = ends || m.Requests() > 0
	switch model := m.m.(type) {
	case opened:
		if stop == (Stop{}) && !ends {
			return origin, 0, errors.New("an open loop without a limit never ends")
		}
		return origin, driveOpen(ctx, model, origin, stop, do), nil
	case closed:
		if stop == (Stop{}) && !ends {
			return origin, 0, errors.New("a closed loop without a limit never ends")
		}
		return origin, driveClosed(ctx, model, origin, stop, do), nil
	case swept:
		return origin, 0, errors.New("a sweep is driven level by level")
	}
	return origin, 0, errors.New("no arrival model")
}

// driveOpen makes the goroutine of each request before it is due and lets it go on time.
func driveOpen(ctx context.Context, m opened, origin time.Time, stop Stop, do func(context.Context, Slot)) int {
	var running sync.WaitGroup
	defer running.Wait()
	next := m.gaps()
	due := time.Duration(0)
	for n := 0; ; n++ {
		gap, more := next()
		due += gap
		if !more || stop.Requests > 0 && n >= stop.Requests || stop.After > 0 && due >= stop.After {
			return n
		}
		slot := Slot{N: n, Turn: n, Due: origin.Add(due)}
		begin := make(chan bool, 1)
		running.Go(func() {
			if <-begin {
				do(ctx, slot)
			}
		})
		inTime := waitClosely(ctx, slot.Due, lead(gap, runtime.GOMAXPROCS(0)))
		begin <- inTime
		if !inTime {
			return n
		}
	}
}

func driveClosed(ctx context.Context, m closed, origin time.Time, stop Stop, do func(context.Context, Slot)) int {
	var (
		running sync.WaitGroup
		started atomic.Int64
	)
	take := func() (int, bool) {
		n := int(started.Add(1)) - 1
		if stop.Requests > 0 && n >= stop.Requests {
			started.Add(-1)
			return 0, false
		}
		return n, true
	}
	for session := range m.sessions() {
		running.Go(func() {
			think := m.think(session)
			from := origin
			wait, more := think()
			for turn := 0; more; turn++ {
				due := from.Add(wait)
				if stop.After > 0 && due.Sub(origin) >= stop.After || !waitUntil(ctx, due) {
					return
				}
				n, ok := take()
				if !ok {
					return
				}
				// Drawn before the request is sent: no answer, however slow, changes a draw.
				wait, more = think()
				var received time.Time
				do(ctx, Slot{N: n, Session: session, Turn: turn, Due: due, received: &received})
				from = time.Now()
				if !received.Before(due) && received.Before(from) {
					from = received
				}
			}
		})
	}
	running.Wait()
	return int(started.Load())
}
