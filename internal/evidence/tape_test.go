package evidence

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"infbench/stages/endpoint"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// observed returns an exchange that began so long after the epoch.
func observed(number int64, began, took time.Duration) endpoint.Exchange {
	return endpoint.Exchange{Number: number, Body: []byte("{}"), Answer: endpoint.Answer{Timing: endpoint.Timing{Began: epoch.Add(began), Ended: took}}}
}

// A tape holds what came between its beginning and its end, once each, in the order in
// which the requests began, whichever of them ended first.
func TestTape(t *testing.T) {
	t.Parallel()
	var tape Tape
	tape.Take(observed(1, 0, 0)) // before the check
	tape.Begin()
	tape.Take(observed(3, 2*time.Second, time.Second))
	tape.Take(observed(2, time.Second, 9*time.Second))
	again := observed(1, 0, time.Second)
	again.Again = true
	tape.Take(again)
	tape.Take(again) // a check that looks at it twice has it once
	list, dropped := tape.End()
	tape.Take(observed(4, 0, 0)) // after it
	got := ""
	for _, x := range list {
		got += fmt.Sprint(x.Number, " ", x.Began, " to ", x.Ended(), " ", x.Again, "; ")
	}
	if want := "1 0s to 1s true; 2 1s to 10s false; 3 2s to 3s false; "; got != want || dropped != 0 {
		t.Errorf("got %s(%d dropped), want %s", got, dropped, want)
	}
	tape.Begin()
	if list, _ := tape.End(); len(list) != 0 {
		t.Errorf("the next check has %d exchanges of the one before", len(list))
	}
}

// A reel keeps how it began and how it ended; what it drops, it counts.
func TestAReelDropsTheMiddle(t *testing.T) {
	t.Parallel()
	x := func(n, size int) Exchange {
		return Exchange{Number: n, Answer: endpoint.Answer{Content: strings.Repeat("x", size-(Exchange{}).size())}}
	}
	var few reel
	for n := range 10 {
		few.add(x(n, 2000), 3, 1<<20)
	}
	var large reel
	for n := range 10 {
		large.add(x(n, 2000), 100, 5000)
	}
	// One that alone is larger than a half does not take the others with it in the head.
	var giant reel
	for n, size := range []int{2000, 9000, 2000, 2000, 2000} {
		giant.add(x(n, size), 100, 5000)
	}
	for name, c := range map[string]struct {
		r    reel
		want string
	}{
		"too many":  {few, "[0 1 2 7 8 9] 4"},
		"too large": {large, "[0 1 8 9] 6"},
		"a giant":   {giant, "[0 3 4] 2"},
	} {
		var kept []int
		for _, x := range slices.Concat(c.r.head, c.r.tail) {
			kept = append(kept, x.Number)
		}
		if got := fmt.Sprint(kept, " ", c.r.dropped); got != c.want {
			t.Errorf("%s: kept %s, want %s", name, got, c.want)
		}
	}
}

// A tape that many write to stays within its bounds.
func TestATapeIsBounded(t *testing.T) {
	t.Parallel()
	var tape Tape
	tape.Begin()
	body := []byte(strings.Repeat("x", 100_000))
	var all sync.WaitGroup
	const writers, each = 8, 500
	for w := range writers {
		all.Go(func() {
			for i := range each {
				x := observed(int64(w*each+i), time.Duration(i), 1)
				x.Body = body
				tape.Take(x)
			}
		})
	}
	all.Wait()
	list, dropped := tape.End()
	size := 0
	for _, x := range list {
		size += x.size()
	}
	if len(list)+dropped != writers*each || size > maxHeld || size < maxHeld/2 {
		t.Errorf("%d held in %d bytes, %d dropped", len(list), size, dropped)
	}
}

// One exchange is bounded too: what is left is a beginning, and says that it is one.
func TestAnExchangeIsBounded(t *testing.T) {
	t.Parallel()
	marks := make([]endpoint.Mark, 10_000)
	for i := range marks {
		marks[i].At = time.Duration(i)
	}
	long := strings.Repeat("y", 3<<20)
	calls := make([]endpoint.ToolCall, 300)
	for i := range calls {
		calls[i] = endpoint.ToolCall{Name: "f", Arguments: long}
	}
	logprobs := make([]endpoint.TokenLogprob, 50_000)
	for i := range logprobs {
		logprobs[i].Token = "abcd"
	}
	x := take(endpoint.Exchange{Body: make([]byte, maxBody+1), Raw: []byte(long), Answer: endpoint.Answer{
		Content: long, Reasoning: long, Refusal: long, ID: long, Calls: calls, Logprobs: logprobs, Timing: endpoint.Timing{Marks: marks},
	}})
	a := x.Answer
	if !x.NoBody || x.Body != "" || !x.Cut || len(x.Raw) != maxRaw || len(a.Content) != maxText || len(a.ID) != maxName || len(a.Calls) != maxCalls {
		t.Errorf("body %d, raw %d, content %d, id %d, %d calls, cut %v", len(x.Body), len(x.Raw), len(a.Content), len(a.ID), len(a.Calls), x.Cut)
	}
	if x.size() > maxHeld/4 {
		t.Errorf("it takes %d bytes", x.size())
	}
	if n := len(a.Timing.Marks); n != maxMarks || a.Timing.Marks[0].At != 0 || a.Timing.Marks[n-1].At != 9999 {
		t.Errorf("%d marks from %v to %v", n, a.Timing.Marks[0].At, a.Timing.Marks[n-1].At)
	}
	if n := len(a.Logprobs); n != maxLogprobs/52 { // 48 and the four of the token
		t.Errorf("%d logprobs", n)
	}
	small := take(endpoint.Exchange{Body: []byte("{}"), Answer: endpoint.Answer{Content: "42", Calls: calls[:1:1]}})
	small.Answer.Calls[0].Arguments = "changed"
	if small.NoBody || small.Body != "{}" || calls[0].Arguments != long {
		t.Errorf("%+v, and the check's own call is %.10s", small, calls[0].Arguments)
	}
	if x := take(endpoint.Exchange{Answer: endpoint.Answer{Content: "42"}}); x.Cut {
		t.Error("a short answer is said to be cut")
	}
}
