package stat

import "sort"

// Ranks returns the ranks, counted from 1 in ascending order, of the two samples between
// which the p-quantile lies with at least the given confidence, half of the doubt on
// each side. lower is 0, or upper n+1, where n samples have no bound on that side.
func Ranks(n int, p, confidence float64) (lower, upper int) {
	half := (1 - confidence) / 2
	// The largest rank that lies above the quantile with at most half of the doubt.
	lower = sort.Search(n, func(l int) bool { return below(n, l, p) > half })
	return lower, upperRank(n, p, half)
}

// Coverage returns the probability that the p-quantile lies from the sample of rank lower
// up to that of rank upper: ranks as [Ranks] gives them.
func Coverage(n int, p float64, lower, upper int) float64 {
	return below(n, upper-1, p) - below(n, lower-1, p)
}

// UpperRank returns the rank of the sample that bounds the p-quantile from above with the
// given confidence; ok is false where n samples have no such bound, which [LeastTrials]
// of no failures tells the least n of.
func UpperRank(n int, p, confidence float64) (rank int, ok bool) {
	rank = upperRank(n, p, 1-confidence)
	return rank, n > 0 && rank <= n
}

// upperRank is the smallest rank u with P(Bin(n, p) >= u) <= doubt; n+1 where none is.
func upperRank(n int, p, doubt float64) int {
	return 1 + sort.Search(n, func(u int) bool { return 1-below(n, u, p) <= doubt })
}
