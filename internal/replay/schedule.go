package replay

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"infbench/internal/evidence"
)

// inCompany does the exchanges as they were: one that began after another had ended does
// so again, however long that takes now, and of those that overlapped each begins so long
// after the other as it did. So the company that a request had is never larger than it
// was, and not smaller either where the answers take as long. It returns after all have
// ended; what had not begun when ctx ended is not done.
func inCompany(ctx context.Context, list []evidence.Exchange, do func(i int)) {
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
			if at := began[k].Add(x.Began - list[k].Began); at.After(due) {
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
