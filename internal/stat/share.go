package stat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// ShareLower returns the one-sided lower bound of Clopper and Pearson for a share of which
// n-failures of n trials were seen to succeed: with the given confidence, such as 0.95, the
// true share is at least this. It is 0 where nothing succeeded or nothing was tried.
func ShareLower(n, failures int, confidence float64) float64 {
	if n <= 0 || failures < 0 || failures >= n {
		return 0
	}
	return mathext.InvRegIncBeta(float64(n-failures), float64(failures+1), 1-confidence)
}

// mostTrials is where [LeastTrials] gives up.
const mostTrials = 1 << 40

// LeastTrials returns the least number of trials in which so many failures still say, with
// the given confidence, that the share of successes is at least share. With a confidence of
// 0.99 it is the number of queries that MLPerf's early stopping asks for. A share or a
// confidence of 1 or more needs more trials than there are: 0 and false.
func LeastTrials(failures int, share, confidence float64) (n int, ok bool) {
	if failures < 0 || !(share > 0 && share < 1) || !(confidence > 0 && confidence < 1) {
		return 0, false
	}
	high := failures + 1
	for below(high, failures, 1-share) > 1-confidence {
		if high *= 2; high > mostTrials {
			return 0, false
		}
	}
	return sort.Search(high, func(n int) bool { return n > failures && below(n, failures, 1-share) <= 1-confidence }), true
}

// below returns the probability of at most k successes in n trials of probability p.
func below(n, k int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	case k == 0:
		return math.Exp(float64(n) * math.Log1p(-p))
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
