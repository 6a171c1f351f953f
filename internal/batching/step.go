package batching

import (
	"slices"
	"time"
)

// A Step is what the engine computes at once. The zero Step is empty.
type Step struct {
	work                       []work
	prefill, decodes, attended int
}

type work struct {
	seq    *Sequence
	tokens int
}

// Empty says that there is nothing to compute.
func (t Step) Empty() bool { return len(t.work) == 0 }

// Prefill is the number of prompt tokens (or tokens recomputed after a
// preemption) in the step.
func (t Step) Prefill() int { return t.prefill }

// Decodes is the number of sequences that add one token to a finished prefix.
func (t Step) Decodes() int { return t.decodes }

// Attended is the number of KV tokens read: the depth of each sequence, summed.
func (t Step) Attended() int { return t.attended }

func (t *Step) add(q *Sequence, n int) {
	t.work = append(t.work, work{q, n})
	if n == 1 && q.generated > 0 && q.computed+1 == q.length() {
		t.decodes++
	} else {
		t.prefill += n
	}
	t.attended += q.computed + n
}

func (t *Step) drop(q *Sequence) {
	i := slices.IndexFunc(t.work, func(w work) bool { return w.seq == q })
	if i < 0 {
		return
	}
	kept := slices.Delete(t.work, i, i+1)
	*t = Step{}
	for _, w := range kept {
		t.add(w.seq, w.tokens)
	}
}

// Plan chooses the next step, which begins at now. Running sequences come first,
// in order of admission; then the queue, first come first served, as far as
// sequences, step tokens and free blocks reach. A sequence that arrived after now
// is not seen yet: the owner's clock may lag behind the wall.
func (s *Scheduler) Plan(now time.Duration) Step {
	var t Step
	budget := s.limits.StepTokens
	preempted := false
	for i := 0; i < len(s.running) && budget > 0; i++ {
		q := s.running[i]
		n := min(q.length()-q.computed, budget)
		for !s.grow(q) {
			preempted = true
			victim := s.running[len(s.running)-1]
			t.drop(victim)
			s.preempt(victim)
			if victim == q {
				break
			}
		}
		if q.state != running {
			break // it was the last one
		}
		t.add(q, n)
		budget -= n
	}
	if !preempted { // a queue head admitted now would take the blocks just given up
		s.admit(&t, budget, now)
	}
	return t
}

// grow makes sure that every existing token of q has a block.
func (s *Scheduler) grow(q *Sequence) bool {
	need := s.blocksFor(q.length()) - len(q.blocks)
	if need > s.pool.free {
		return false
	}
	for range need {
		q.blocks = append(q.blocks, s.pool.take())
	}
	return true
}

// preempt takes all blocks from q and puts it at the head of the queue. What it
// had computed is computed again, unless the cache still holds it.
func (s *Scheduler) preempt(q *Sequence) {
	s.running = without(s.running, q)
	s.release(q)
	q.computed, q.state = 0, waiting
	q.preemptions++
	s.totals.Preemptions++
	s.waiting = slices.Insert(s.waiting, 0, q)
}

func (s *Scheduler) admit(t *Step, budget int, now time.Duration) {
	for budget > 0 && len(s.waiting) > 0 && len(s.running) < s.limits.MaxRunning {
		q := s.waiting[0]
		if q.arrival > now || !s.place(q) {
			return
		}
		s.waiting = slices.Delete(s.waiting, 0, 1)
		s.running = append(s.running, q)
		q.state = running
		if !q.admitted {
			q.admitted, q.scheduled, q.cached = true, now, q.computed
			s.totals.Queries += q.prompt
			s.totals.Hits += q.cached
		}
		n := min(q.length()-q.computed, budget)
		t.add(q, n)
		budget -= n
	}
}

// place gives q its blocks: those found in the cache, and new ones for the rest of
// the prompt. It changes nothing when they do not suffice.
func (s *Scheduler) place(q *Sequence) bool {
	hits, idle := s.lookup(q)
	if s.blocksFor(q.length())-len(hits) > s.pool.free-idle {
		return false
	}
	for _, b := range hits {
		s.pool.retain(b)
	}
	q.blocks = append(q.blocks[:0], hits...)
	q.computed = len(hits) * s.limits.BlockSize
	return s.grow(q)
}

// lookup finds the longest cached prefix. The last token is always computed,
// since its output is what is asked for: an identical prompt of P tokens hits
// ⌊(P−1)/B⌋ blocks. Idle counts the hits that are in the free list now.
func (s *Scheduler) lookup(q *Sequence) (hits []int32, idle int) {
	if s.limits.NoPrefixHit {
		return nil, 0
	}
	for i := range (q.length() - 1) / s.limits.BlockSize {
		b, ok := s.pool.index[q.hashOf(i, s.limits.BlockSize)]
		if !ok {
			break
		}
		if s.pool.refs[b] == 0 {
			idle++
		}
		hits = append(hits, b)
	}
	return hits, idle
}

// Commit says that the step is over and returns the sequences that have one more
// token, in the order of the step. Sequences removed meanwhile are left out;
// finished ones have left the scheduler.
func (s *Scheduler) Commit(t Step) []*Sequence {
	out := make([]*Sequence, 0, len(t.work))
	for _, w := range t.work {
		q := w.seq
		if q.state != running {
			continue
		}
		s.publish(q, q.computed+w.tokens)
		if q.computed < q.length() {
			continue
		}
		q.generated++
		out = append(out, q)
		if q.Done() {
			s.Remove(q)
		}
	}
	return out
}

// publish advances q and makes its newly filled blocks findable.
func (s *Scheduler) publish(q *Sequence, computed int) {
	size := s.limits.BlockSize
	first := q.computed / size
	q.computed = computed
	if s.limits.NoPrefixHit {
		return
	}
	for i := first; i < computed/size; i++ {
		s.pool.publish(q.blocks[i], q.hashOf(i, size))
	}
}
