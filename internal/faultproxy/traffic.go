package faultproxy

import (
	"slices"
	"sync"
)

// headRunes is how much of a prompt must agree with an earlier one for it to count
// as warm: more than a chat template adds, less than any shared body.
const headRunes = 200

// traffic is what the requests of one proxy know about each other. Safe for
// concurrent use.
type traffic struct {
	mu    sync.Mutex
	count int
	live  []*exchange
	most  int                 // were ever live together
	heads map[string][]string // beginning of a prompt → digit runs of the first that had it
}

// enter counts a generation request in and introduces it to those in flight.
func (t *traffic) enter(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.earlier = t.count
	t.count++
	t.live = append(t.live, x)
	x.most, x.crowd = len(t.live), t.most
	t.most = max(t.most, len(t.live))
	for _, other := range t.live {
		other.most = max(other.most, len(t.live))
		x.meet(other)
		other.meet(x)
	}
	head, ok := headOf(x.prompt)
	if !ok {
		return
	}
	if x.stale, x.warm = t.heads[head]; !x.warm {
		t.heads[head] = x.runs
	}
}

func (t *traffic) leave(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = slices.DeleteFunc(t.live, func(o *exchange) bool { return o == x })
}

// peak is the largest number of requests in flight since x arrived.
func (t *traffic) peak(x *exchange) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.most
}

// donor returns the digit runs of a request that was in flight together with x.
func (t *traffic) donor(x *exchange) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.foreign
}

// passed is the number of generation requests so far.
func (t *traffic) passed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// meet remembers the first other request whose digits could be told from x's own.
func (x *exchange) meet(other *exchange) {
	if x.foreign == nil && len(other.runs) > 0 && !slices.Equal(other.runs, x.runs) {
		x.foreign = other.runs
	}
}

func headOf(prompt string) (string, bool) {
	n := 0
	for i := range prompt {
		if n == headRunes {
			return prompt[:i], true
		}
		n++
	}
	return prompt, n >= headRunes
}
