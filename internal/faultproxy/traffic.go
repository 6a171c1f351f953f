package faultproxy

import (
	"hash/fnv"
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
	most  int              // were ever live together
	text  int              // characters of all prompts so far
	heads map[string]*head // by the beginning of a prompt
	seen  map[uint64]bool  // prompts, by their hash
}

// A head is what is known of the prompts that begin alike.
type head struct {
	runs []string // digit runs of the first
	till int      // traffic.text when the latest had come
}

// enter counts a generation request in and introduces it to those in flight.
func (t *traffic) enter(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.earlier, x.ahead = t.count, len(t.live)
	t.count++
	t.live = append(t.live, x)
	x.most, x.crowd = len(t.live), t.most
	t.recall(x)
	t.most = max(t.most, len(t.live))
	for _, other := range t.live {
		other.most = max(other.most, len(t.live))
		x.meet(other)
		other.meet(x)
	}
	t.countBound()
}

// recall tells x what came before it with the same beginning, and remembers x.
func (t *traffic) recall(x *exchange) {
	sum := hashOf(x.prompt)
	x.again = t.seen[sum]
	t.seen[sum] = true
	since := t.text
	t.text += x.length
	if x.head == "" {
		return
	}
	h, ok := t.heads[x.head]
	if !ok {
		h = &head{runs: x.runs}
		t.heads[x.head] = h
	} else {
		x.warm, x.stale, x.away = true, h.runs, since-h.till
	}
	h.till = t.text
}

// countBound tells those that are bound to a form how many of them are in flight.
func (t *traffic) countBound() {
	var list []*exchange
	for _, x := range t.live {
		if x.bound {
			list = append(list, x)
		}
	}
	for _, x := range list {
		x.mostBound = max(x.mostBound, len(list))
	}
}

func (t *traffic) leave(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = slices.DeleteFunc(t.live, func(o *exchange) bool { return o == x })
	x.with = nil // or each would keep all that came before it
}

// peak is the largest number of requests in flight since x arrived.
func (t *traffic) peak(x *exchange) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.most
}

// peakBound is peak among the requests that are bound to a form.
func (t *traffic) peakBound(x *exchange) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.mostBound
}

// company are the requests that x has been in flight with so far, in the order in
// which they came.
func (t *traffic) company(x *exchange) []*exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(x.with)
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

// meet remembers the other request, and the first whose digits could be told from x's
// own.
func (x *exchange) meet(other *exchange) {
	if other == x {
		return
	}
	x.with = append(x.with, other)
	if x.foreign == nil && len(other.runs) > 0 && !slices.Equal(other.runs, x.runs) {
		x.foreign = other.runs
	}
}

// headOf is the beginning of a prompt, "" where the prompt is shorter.
func headOf(prompt string) string {
	n := 0
	for i := range prompt {
		if n == headRunes {
			return prompt[:i]
		}
		n++
	}
	if n < headRunes {
		return ""
	}
	return prompt
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
