package evidence

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"infbench/stages/endpoint"
)

// What a tape holds at most.
const (
	maxExchanges = 2000
	maxHeld      = 32 << 20
)

// Tape records the exchanges of the check that is being asked, in bounded memory. It is
// safe for concurrent use. The zero Tape records nothing until [Tape.Begin].
type Tape struct {
	mu   sync.Mutex
	on   bool
	reel reel
}

// Begin forgets all and records from now on.
func (t *Tape) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on, t.reel = true, reel{}
}

// End stops the recording and returns what there is: the exchanges in the order in which
// they began, and how many between the first and the last were dropped for want of room.
func (t *Tape) End() (exchanges []Exchange, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = false
	exchanges, dropped = inOrder(slices.Concat(t.reel.head, t.reel.tail)), t.reel.dropped
	t.reel = reel{}
	return exchanges, dropped
}

// Take records an exchange. It is for [endpoint.Options.Observe].
func (t *Tape) Take(x endpoint.Exchange) {
	t.mu.Lock()
	on := t.on && !(x.Again && t.reel.has(x))
	t.mu.Unlock()
	if !on {
		return
	}
	kept := take(x)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on {
		t.reel.add(kept, maxExchanges/2, maxHeld/2)
	}
}

// reel holds the first exchanges in one half of what there is room for, and the latest in
// the other: how it began and how it ended are told, and the middle is repetition.
type reel struct {
	head, tail         []Exchange
	headSize, tailSize int
	full               bool // the head takes no more
	dropped            int
}

// add takes an exchange into a reel whose halves have room for so many exchanges and bytes.
func (r *reel) add(x Exchange, count, size int) {
	n := x.size()
	if r.full = r.full || len(r.head) == count || r.headSize+n > size; !r.full {
		r.head, r.headSize = append(r.head, x), r.headSize+n
		return
	}
	r.tail, r.tailSize = append(r.tail, x), r.tailSize+n
	for len(r.tail) > count || r.tailSize > size {
		r.tailSize -= r.tail[0].size()
		r.tail[0] = Exchange{} // or the slice holds on to it
		r.tail = r.tail[1:]
		r.dropped++
	}
}

// has reports whether an exchange was taken before. Endpoints beside each other count anew.
func (r *reel) has(x endpoint.Exchange) bool {
	is := func(y Exchange) bool {
		return y.Number == int(x.Number) && y.Answer.Timing.Began.Equal(x.Answer.Timing.Began)
	}
	return slices.ContainsFunc(r.head, is) || slices.ContainsFunc(r.tail, is)
}

// inOrder numbers exchanges in the order in which they began and sets when that was.
func inOrder(list []Exchange) []Exchange {
	slices.SortFunc(list, func(a, b Exchange) int {
		return cmp.Or(a.Answer.Timing.Began.Compare(b.Answer.Timing.Began), cmp.Compare(a.Number, b.Number))
	})
	for i := range list {
		x := &list[i]
		x.Number, x.Began = i+1, max(0, x.Answer.Timing.Began.Sub(list[0].Answer.Timing.Began))
	}
	for i := range list {
		list[i].Answer.Timing.Began = time.Time{}
	}
	return list
}
