package performance

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// Edges of one, two, three and any seconds: the upper edge of the bucket counts.
func TestQuantileOfWhatWasAdded(t *testing.T) {
	t.Parallel()
	h := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: []float64{0, 1, 2, 3, math.Inf(1)}}
	}
	for name, c := range map[string]struct {
		now, before *metrics.Float64Histogram
		q           float64
		want        time.Duration
	}{
		"nothing added": {h(5, 5, 0, 0), h(5, 5, 0, 0), 0.99, 0},
		"the worst":     {h(105, 5, 1, 0), h(5, 5, 0, 0), 1, 3 * time.Second},
		"99 of 100":     {h(104, 6, 0, 0), h(5, 5, 0, 0), 0.99, time.Second},
		"98 of 100":     {h(103, 7, 0, 0), h(5, 5, 0, 0), 0.99, 2 * time.Second},
		"without end":   {h(0, 0, 0, 1), h(0, 0, 0, 0), 1, 3 * time.Second},
		"not told":      {nil, h(), 1, 0},
	} {
		if got := quantileOf(c.now, c.before, c.q); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestQuietIsPutBack(t *testing.T) { // not parallel: it is the whole process's collector
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(percent)
	restore := Quiet()
	if now := debug.SetMemoryLimit(-1); limit == math.MaxInt64 && now != quietLimit {
		t.Errorf("the limit is %d", now)
	}
	restore()
	if p, l := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); p != 100 || l != limit {
		t.Errorf("%d and %d are left, were 100 and %d", p, l, limit)
	}
}
