package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"infbench/internal/evidence"
)

// longestGap is how long the start of one request waits for that of the one before it, at
// most, and told how much of waiting goes without a word.
const longestGap, told = time.Minute, 5 * time.Second

// pace says when each of some exchanges begins beside those that it overlapped.
type pace struct {
	at        []time.Duration
	waits     time.Duration // in all, at most
	shortened int           // gaps
}

// paceOf takes the recorded times, and no gap longer than longestGap: a bundle of a stuck
// server, or one from elsewhere, may have gaps of days.
func paceOf(list []evidence.Exchange) pace {
	p := pace{at: make([]time.Duration, len(list))}
	var busy time.Duration // until when one of those before was in flight
	for i := 1; i < len(list); i++ {
		busy = max(busy, list[i-1].Ended())
		gap := list[i].Began - list[i-1].Began
		if busy > list[i].Began {
			if gap > longestGap {
				p.shortened++
			}
			p.waits += min(gap, longestGap)
		}
		p.at[i] = p.at[i-1] + min(gap, longestGap)
	}
	return p
}

// says tells of the waiting, "" where there is next to none.
func (p pace) says() string {
	if p.waits <= told {
		return ""
	}
	text := fmt.Sprintf("requests that overlapped begin as far apart as they did: up to %v of waiting", p.waits.Round(time.Second))
	if p.shortened > 0 {
		text += fmt.Sprintf(", %s shortened to %v", counted(p.shortened, "longer gap"), longestGap)
	}
	return text + "; --one-by-one does not wait"
}

// inCompany does the exchanges as they were: one that began after another had ended does
// so again, however long that takes now, and of those that overlapped each begins so long
// after the other as it did. So the company that a request had is never larger than it
// was, and not smaller either where the answers take as long. It returns after all have
// ended; what had not begun when ctx ended is not done.
func (p pace) inCompany(ctx context.Context, list []evidence.Exchange, do func(i int)) {
	var all sync.WaitGroup
	defer all.Wait()
	began := make([]time.Time, len(list))
	ended := make([]chan struct{}, len(list))
	byEnd := make([]int, len(list))
	for i := range list {
		ended[i], byEnd[i] = make(chan struct{}), i
	}
	slices.SortStableFunc(byEnd, func(a, b int) int { return cmp.Compare(list[a].Ended(), list[b].Ended()) })
	waited := 0 // of byEnd
	for i, x := range list {
		for ; waited < len(byEnd) && byEnd[waited] < i && list[byEnd[waited]].Ended() <= x.Began; waited++ {
			select {
			case <-ended[byEnd[waited]]:
			case <-ctx.Done():
			}
		}
		var due time.Time
		for k := range i {
			if list[k].Ended() <= x.Began {
				continue
			}
			if at := began[k].Add(p.at[i] - p.at[k]); at.After(due) {
				due = at
			}
		}
		if !until(ctx, due) {
			return
		}
		began[i] = time.Now()
		all.Go(func() {
			defer close(ended[i])
			do(i)
		})
	}
}

// alone does the exchanges one after another.
func alone(ctx context.Context, list []evidence.Exchange, do func(i int)) {
	for i := range list {
		if ctx.Err() != nil {
			return
		}
		do(i)
	}
}

// until waits for a moment; false when ctx ended first.
func until(ctx context.Context, due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
