package performance

import (
	"sync"
	"time"
)

// warming tells when the warm-up of a closed loop is over: every session has had its first
// answer, so that its conversation is in the cache and its connection is open. From then on
// the level lasts as long as it should. An open loop has no such beginning.
type warming struct {
	mu      sync.Mutex
	left    int
	lasts   time.Duration
	end     func()
	ended   time.Time
	timer   *time.Timer
	atMost  *time.Timer
	stopped bool
}

// newWarming returns the warm-up of so many sessions; lasts is how long the level goes on
// after it, atMost how long it is waited for, end ends the level.
func newWarming(sessions int, lasts, atMost time.Duration, end func()) *warming {
	w := &warming{left: sessions, lasts: lasts, end: end}
	if sessions == 0 {
		w.ended = time.Now()
		return w
	}
	w.atMost = time.AfterFunc(atMost, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finish()
	})
	return w
}

// finished says that a session has had its first answer.
func (w *warming) finished() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left--; w.left == 0 {
		w.finish()
	}
}

func (w *warming) finish() {
	if w.stopped || !w.ended.IsZero() {
		return
	}
	w.ended = time.Now()
	w.timer = time.AfterFunc(w.lasts, w.end)
}

// over returns when the warm-up had ended; the zero time where it had not.
func (w *warming) over() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

func (w *warming) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, t := range []*time.Timer{w.timer, w.atMost} {
		if t != nil {
			t.Stop()
		}
	}
}
