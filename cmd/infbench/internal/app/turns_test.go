package app

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// played runs so many runs of so many steps after their gates, of which those that fail leave
// after their gates, and returns what was done in which order.
func played(seed uint64, steps []int, fails ...int) (order []string, refused []int) {
	turns := newTurns(len(steps), seed)
	var all sync.WaitGroup
	at := 0 // of no mutex: the race detector sees two at once
	for run, n := range steps {
		all.Go(func() {
			defer turns.leave(run)
			_ = turns.take(run)
			order = append(order, fmt.Sprintf("%d gates", run))
			if slices.Contains(fails, run) {
				return
			}
			for step := range n {
				if turns.take(run) != nil {
					refused = append(refused, run)
					return
				}
				at++
				order = append(order, fmt.Sprintf("%d step %d", run, step))
			}
		})
	}
	all.Wait()
	return order, refused
}

// Gates come first and in order; then each step is taken by all before the next one is, in an
// order that chance decides and the seed repeats.
func TestTurns(t *testing.T) {
	t.Parallel()
	firsts := map[string]int{}
	for seed := range uint64(200) {
		order, refused := played(seed, []int{4, 4, 2})
		if again, _ := played(seed, []int{4, 4, 2}); !slices.Equal(order, again) {
			t.Fatalf("seed %d: %v, then %v", seed, order, again)
		}
		if len(refused) != 0 || len(order) != 3+10 || !slices.Equal(order[:3], []string{"0 gates", "1 gates", "2 gates"}) {
			t.Fatalf("seed %d: %v, refused %v", seed, order, refused)
		}
		for i, round := range [][]string{order[3:6], order[6:9], order[9:11], order[11:13]} {
			for _, did := range round {
				if !strings.HasSuffix(did, fmt.Sprintf("step %d", i)) {
					t.Fatalf("seed %d: %v", seed, order)
				}
			}
		}
		firsts[order[3][:1]+order[6][:1]]++
	}
	// Nine pairs of equal chance: each 22 of 200, and 4σ is 18.
	for pair, n := range firsts {
		if n > 40 {
			t.Errorf("%s were first %d times of 200", pair, n)
		}
	}
	if len(firsts) != 9 {
		t.Errorf("the firsts of two rounds: %v", firsts)
	}
}

// Where the gates of one do not pass nobody measures, whichever it is, and nobody waits for ever.
func TestTurnsNeedEveryTarget(t *testing.T) {
	t.Parallel()
	for fails := range 3 {
		order, refused := played(1, []int{2, 2, 2}, fails)
		slices.Sort(refused)
		want := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return i == fails })
		if len(order) != 3 || !slices.Equal(refused, want) {
			t.Errorf("%d fails: %v, refused %v", fails, order, refused)
		}
	}
}
