package batching

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limits are the sizes of the modelled engine.
type Limits struct {
	Blocks      int  // KV capacity
	BlockSize   int  // tokens per block
	MaxRunning  int  // sequences in one step
	StepTokens  int  // tokens in one step: chunks of prompts plus one per decoding sequence
	NoPrefixHit bool // prefix cache off
}

// Validate returns every reason why no engine can have these sizes.
func (l Limits) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		n    int
	}{
		{"KV blocks", l.Blocks},
		{"block size", l.BlockSize},
		{"running sequences", l.MaxRunning},
		{"step tokens", l.StepTokens},
	} {
		if f.n < 1 {
			errs = append(errs, fmt.Errorf("limits: %s must be at least 1, got %d", f.name, f.n))
		}
	}
	if l.StepTokens < l.MaxRunning {
		// With fewer, a decoding sequence could be left out of a step for ever.
		errs = append(errs, fmt.Errorf("limits: %d step tokens cannot serve %d running sequences", l.StepTokens, l.MaxRunning))
	}
	return errors.Join(errs...)
}

// A Scheduler holds the queue, the running batch and the cache. Not safe for
// concurrent use: its owner has the lock.
type Scheduler struct {
	limits  Limits
	pool    *pool
	waiting []*Sequence // FIFO; a preempted sequence goes back to the front
	running []*Sequence // in order of admission; the last is preempted first
	totals  Totals
}

// Totals count since the scheduler was made.
type Totals struct {
	Queries     int // prompt tokens looked up in the prefix cache
	Hits        int // of them found
	Preemptions int
}

// Load is the state of a scheduler between two steps.
type Load struct {
	Running, Waiting int
	BlocksHeld       int
	Blocks           int
}

// NewScheduler returns an empty scheduler.
func NewScheduler(l Limits) (*Scheduler, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &Scheduler{limits: l, pool: newPool(l.Blocks)}, nil
}

// Fits says whether a sequence of this many tokens can run when it is alone.
func (s *Scheduler) Fits(tokens int) bool {
	return s.blocksFor(tokens) <= s.limits.Blocks
}

// Add queues a sequence. One that could never run would block the queue for
// ever, so it is refused.
func (s *Scheduler) Add(q *Sequence) error {
	switch {
	case q.state != outside || q.generated > 0:
		return errors.New("sequence was added before")
	case q.prompt == 0 || q.Done():
		return errors.New("sequence has no prompt or nothing to generate")
	case !s.Fits(len(q.tokens)):
		return fmt.Errorf("sequence of %d tokens exceeds the KV capacity of %d", len(q.tokens), s.limits.Blocks*s.limits.BlockSize)
	}
	q.state = waiting
	s.waiting = append(s.waiting, q)
	return nil
}

// Remove takes a sequence out, wherever it is, and frees its blocks at once.
// Removing one that is not inside does nothing.
func (s *Scheduler) Remove(q *Sequence) {
	switch q.state {
	case waiting:
		s.waiting = without(s.waiting, q)
	case running:
		s.running = without(s.running, q)
		s.release(q)
	case outside:
	}
	q.state = outside
}

// Totals returns the counters.
func (s *Scheduler) Totals() Totals { return s.totals }

// Load returns the gauges.
func (s *Scheduler) Load() Load {
	return Load{
		Running: len(s.running), Waiting: len(s.waiting),
		BlocksHeld: s.limits.Blocks - s.pool.free, Blocks: s.limits.Blocks,
	}
}

// ResetCache forgets all published blocks. Running sequences keep theirs.
func (s *Scheduler) ResetCache() { s.pool.forgetAll() }

func (s *Scheduler) blocksFor(tokens int) int {
	return (tokens + s.limits.BlockSize - 1) / s.limits.BlockSize
}

func without(list []*Sequence, q *Sequence) []*Sequence {
	i := slices.Index(list, q)
	return slices.Delete(list, i, i+1)
}

// release gives back the blocks, the deepest first: a prefix outlives its tail.
func (s *Scheduler) release(q *Sequence) {
	for _, b := range slices.Backward(q.blocks) {
		s.pool.release(b)
	}
	q.blocks = q.blocks[:0]
}

// NextArrival is the arrival of the head of the queue; ok is false when it is empty.
func (s *Scheduler) NextArrival() (at time.Duration, ok bool) {
	if len(s.waiting) == 0 {
		return 0, false
	}
	return s.waiting[0].arrival, true
}
