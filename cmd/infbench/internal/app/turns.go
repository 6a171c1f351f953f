package app

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// turns lets several runs take turns, of which one at a time does anything: their gates one
// after another, then step by step their load points. Whoever has done least is next, and
// among equals chance decides, so that what drifts on the machine hits all of them.
//
// A run whose gates did not pass ends all: figures side by side need every side.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	rng     *rand.Rand
	runs    []turn
	holder  int // whose turn it is, -1 for nobody's
}

type turn struct {
	steps   int // that were taken: the first are the gates
	waiting bool
	left    bool
}

func newTurns(n int, seed uint64) *turns {
	t := &turns{rng: rand.New(rand.NewPCG(seed, 0)), runs: make([]turn, n), holder: -1}
	t.changed.L = &t.mu
	return t
}

// take waits for the turn of a run and hands on the one that it had. An error says why there
// is nothing to measure.
func (t *turns) take(run int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[run].waiting = true
	t.handOn(run)
	for t.holder != run {
		t.changed.Wait()
	}
	t.runs[run].waiting = false
	t.runs[run].steps++
	if t.runs[run].steps == 1 {
		return nil
	}
	for i, r := range t.runs {
		if r.left && r.steps < 2 {
			return fmt.Errorf("target %d was not measured, as its own report says: figures side by side need every target", i+1)
		}
	}
	return nil
}

// leave says that a run is over.
func (t *turns) leave(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[run].left = true
	t.handOn(run)
}

// handOn gives the turn to the next run once every other one waits for it or is over.
func (t *turns) handOn(from int) {
	if t.holder == from {
		t.holder = -1
	}
	if t.holder >= 0 {
		return
	}
	var next []int
	for i, r := range t.runs {
		switch {
		case r.left:
		case !r.waiting:
			return
		case len(next) > 0 && r.steps > t.runs[next[0]].steps:
		case len(next) > 0 && r.steps < t.runs[next[0]].steps:
			next = []int{i}
		default:
			next = append(next, i)
		}
	}
	if len(next) == 0 {
		return
	}
	t.holder = next[0] // gates are asked in the order of the command line
	if t.runs[t.holder].steps > 0 {
		t.holder = next[t.rng.IntN(len(next))]
	}
	t.changed.Broadcast()
}
