package correctness

import "math"

// moreOften returns the probability that a of n and b of m are as far apart as they are, or
// further, where both have one rate: Fisher's exact test, one-sided for a/n above b/m.
func moreOften(a, n, b, m int) float64 {
	p := 0.0
	for k := a; k <= min(n, a+b); k++ {
		if a+b-k > m {
			continue
		}
		p += math.Exp(logChoose(n, k) + logChoose(m, a+b-k) - logChoose(n+m, a+b))
	}
	return min(p, 1)
}

func logChoose(n, k int) float64 {
	l := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return l(n) - l(k) - l(n-k)
}

// surely is the probability below which a difference between two rates is no chance.
const surely = 0.01
