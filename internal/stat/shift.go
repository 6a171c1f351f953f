package stat

import (
	"errors"
	"math"
	"slices"
)

// Shift is how far the values of one sample lie from those of another: the median of all
// pairwise differences, after Hodges and Lehmann, and an interval by their order.
type Shift struct {
	Value, Low, High float64
	// Coverage is that of the interval; it is 0, and the interval without bounds, where the
	// samples are too small for 95 %.
	Coverage float64
}

// HodgesLehmann returns the shift from a to b: positive where b is larger.
//
// Source: Hodges, Lehmann, "Estimates of Location Based on Rank Tests", 1963; the interval is
// that of the rank test, as in Conover, Practical Nonparametric Statistics.
func HodgesLehmann(a, b []float64) (Shift, error) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return Shift{}, errors.New("a shift needs values on both sides")
	}
	var d []float64
	for _, x := range a {
		for _, y := range b {
			d = append(d, y-x)
		}
	}
	slices.Sort(d)
	s := Shift{Value: Median(d), Low: math.Inf(-1), High: math.Inf(1)}
	// The k-th smallest difference is a bound where U < k is improbable enough.
	tail := 0.0
	law := lawOfU(n, m)
	for k := 0; k < len(law)/2; k++ {
		if tail+law[k] > 0.025 {
			break
		}
		tail += law[k]
		s.Low, s.High, s.Coverage = d[k], d[len(d)-1-k], 1-2*tail
	}
	return s, nil
}
