package performance

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// stalls are the runtime's own counts of what holds goroutines up, since the program began.
type stalls struct{ pauses, scheduling *metrics.Float64Histogram }

func readStalls() stalls {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(s)
	var out stalls
	for i, to := range []**metrics.Float64Histogram{&out.pauses, &out.scheduling} {
		if s[i].Value.Kind() == metrics.KindFloat64Histogram {
			h := s[i].Value.Float64Histogram()
			*to = &metrics.Float64Histogram{Counts: slices.Clone(h.Counts), Buckets: h.Buckets}
		}
	}
	return out
}

// since returns the longest pause of the collector and the 99th percentile of what goroutines
// that could run waited, between two readings; 0 where there was none.
func (s stalls) since(before stalls) (worstPause, schedulingP99 time.Duration) {
	return quantileOf(s.pauses, before.pauses, 1), quantileOf(s.scheduling, before.scheduling, 0.99)
}

// quantileOf returns the upper edge of the bucket that holds the quantile of what was added.
func quantileOf(now, before *metrics.Float64Histogram, q float64) time.Duration {
	if now == nil || before == nil || len(now.Counts) != len(before.Counts) {
		return 0
	}
	var n uint64
	for i := range now.Counts {
		n += now.Counts[i] - before.Counts[i]
	}
	rank := uint64(math.Ceil(q * float64(n)))
	for i, seen := 0, uint64(0); i < len(now.Counts) && n > 0; i++ {
		if seen += now.Counts[i] - before.Counts[i]; seen < rank {
			continue
		}
		edge := now.Buckets[i+1]
		if math.IsInf(edge, 1) {
			edge = now.Buckets[i]
		}
		return time.Duration(edge * float64(time.Second))
	}
	return 0
}
