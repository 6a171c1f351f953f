package stat

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// maxValues bounds the exact rank test: of two sides of 50 it adds some 50 million times.
const maxValues = 100

// RankTest is the exact two-sided test of Mann and Whitney: U is the smaller of the two
// counts, P the probability that chance parts the values at least as far.
type RankTest struct{ U, P float64 }

// MannWhitney compares two samples without assuming a law. Equal values share their
// midrank, and every split of all the values is counted: no approximation by a normal law,
// which is wrong at these sizes.
//
// Source: Mann, Whitney, "On a Test of Whether one of Two Random Variables is Stochastically
// Larger than the Other", 1947.
func MannWhitney(a, b []float64) (RankTest, error) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return RankTest{}, errors.New("a rank test needs values on both sides")
	}
	if n+m > maxValues {
		return RankTest{}, errors.New("too many values for an exact rank test")
	}
	ranks := midranks(slices.Concat(a, b))
	sum := 0.0
	for _, r := range ranks[:n] {
		sum += r
	}
	far := math.Abs(sum - float64(n*(n+m+1))/2)
	u := sum - float64(n*(n+1))/2
	return RankTest{min(u, float64(n*m)-u), min(1, further(ranks, n, far))}, nil
}

// further returns the share of the splits that take n of the ranks whose sum lies at least so far
// from the middle. It counts splits by their sum instead of walking through them; midranks are
// halves, so that twice a rank is whole.
func further(ranks []float64, n int, far float64) float64 {
	most := 2 * len(ranks) * n
	counts := make([][]float64, n+1) // by how many ranks were taken and by twice their sum
	for k := range counts {
		counts[k] = make([]float64, most+1)
	}
	counts[0][0] = 1
	for i, r := range ranks {
		twice := int(math.Round(2 * r))
		for k := min(i+1, n); k > 0; k-- {
			for s := most; s >= twice; s-- {
				counts[k][s] += counts[k-1][s-twice]
			}
		}
	}
	middle := float64(n*(len(ranks)+1)) / 2
	reached, all := 0.0, 0.0
	for s, c := range counts[n] {
		all += c
		if math.Abs(float64(s)/2-middle) >= far-1e-9 {
			reached += c
		}
	}
	return reached / all
}

// midranks returns the ranks of values from 1, equal ones sharing their mean.
func midranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return out
}

// lawOfU returns the probabilities of U = 0, 1, …, n·m where nothing has changed and no two
// values are equal: by the recursion on which side holds the largest value.
func lawOfU(n, m int) []float64 {
	counts := make([][]float64, m+1) // of i of a's and j of b's values, for the present i
	for j := range counts {
		counts[j] = []float64{1}
	}
	for i := 1; i <= n; i++ {
		next := make([][]float64, m+1)
		next[0] = []float64{1}
		for j := 1; j <= m; j++ {
			next[j] = make([]float64, i*j+1)
			for u, c := range counts[j] { // the largest is a's: it beats all j
				next[j][u+j] += c
			}
			for u, c := range next[j-1] { // the largest is b's
				next[j][u] += c
			}
		}
		counts = next
	}
	all := math.Exp(combin.LogGeneralizedBinomial(float64(n+m), float64(n)))
	out := counts[m]
	for u := range out {
		out[u] /= all
	}
	return out
}

// SmallestP returns the least two-sided p that a rank test of so many values can reach.
func SmallestP(n, m int) float64 {
	return min(1, 2/math.Exp(combin.LogGeneralizedBinomial(float64(n+m), float64(n))))
}
