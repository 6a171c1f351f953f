package stat

import (
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
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
	s := Shift{Value: (d[(len(d)-1)/2] + d[len(d)/2]) / 2, Low: math.Inf(-1), High: math.Inf(1)}
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

// Detectable returns the shift in standard deviations that so many repeats on each side are
// able to show with a probability of 80 %, by the t-test at 5 %: what "no detectable change"
// leaves open.
func Detectable(repeats int) float64 {
	if repeats < 2 {
		return math.Inf(1)
	}
	if d, ok := detectables.Load(repeats); ok {
		return d.(float64)
	}
	d := detectable(repeats)
	detectables.Store(repeats, d)
	return d
}

// detectables remembers what was worked out: it is asked for again and again.
var detectables sync.Map

func detectable(repeats int) float64 {
	df := float64(2*repeats - 2)
	critical := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975)
	low, high := 0.0, 50.0
	for range 60 {
		mid := (low + high) / 2
		if powerOfT(mid*math.Sqrt(float64(repeats)/2), critical, df) < 0.8 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// powerOfT is the probability that a t of so many degrees of freedom with an offset lies
// beyond the critical value on either side: the normal law integrated over that of the
// standard deviation.
func powerOfT(offset, critical, df float64) float64 {
	chi := distuv.ChiSquared{K: df}
	const steps = 2000
	power := 0.0
	for i := range steps {
		s := math.Sqrt(chi.Quantile((float64(i)+0.5)/steps) / df)
		power += (distuv.UnitNormal.Survival(critical*s-offset) + distuv.UnitNormal.CDF(-critical*s-offset)) / steps
	}
	return power
}

// Change fits one line to each of two sides and tells what the difference of the two is
// made of: y = a + b·x + Offset·g + Slope·g·x, with g = 0 before and 1 after.
type Change struct {
	Offset, Slope Term
	// OffsetP and SlopeP are the two-sided p of the t-tests, F and FP those of Chow's test that
	// one line fits both sides.
	OffsetP, SlopeP, F, FP float64
	// DF are the degrees of freedom that are left, SSE the sum of the squared residuals.
	DF  int
	SSE float64
}

// CompareLines tells how the line of the second side differs from that of the first.
//
// Source: Chow, "Tests of Equality Between Sets of Coefficients in Two Linear Regressions",
// Econometrica 1960.
func CompareLines(first, second Points) (Change, error) {
	before, err := FitLine(first)
	if err != nil {
		return Change{}, err
	}
	after, err := FitLine(second)
	if err != nil {
		return Change{}, err
	}
	both, err := FitLine(first.and(second))
	if err != nil {
		return Change{}, err
	}
	c := Change{DF: before.N + after.N - 4, SSE: before.SSE + after.SSE}
	if c.DF < 1 {
		return Change{}, errors.New("two lines need five points")
	}
	s2 := c.SSE / float64(c.DF)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(c.DF)}
	// The standard errors of each line hold its own variance; the joint model has one for both.
	joint := func(a, b Term) (Term, float64) {
		scale := func(e Term, l Line) float64 { return e.Error * e.Error / (l.SSE / float64(l.N-2)) }
		va, vb := scale(a, before), scale(b, after)
		d, e := b.Value-a.Value, math.Sqrt(s2*(va+vb))
		q := t.Quantile(0.975)
		return Term{d, e, d - q*e, d + q*e}, 2 * t.Survival(math.Abs(d/e))
	}
	if before.SSE == 0 || after.SSE == 0 {
		return Change{}, errors.New("the values lie on a line without any noise: nothing tells how wrong it is")
	}
	c.Offset, c.OffsetP = joint(before.Intercept, after.Intercept)
	c.Slope, c.SlopeP = joint(before.Slope, after.Slope)
	c.F = (both.SSE - c.SSE) / 2 / s2
	c.FP = distuv.F{D1: 2, D2: float64(c.DF)}.Survival(c.F)
	return c, nil
}

// Discoveries returns which of several p belong to a change, at a rate of false ones of at
// most q among them.
//
// Source: Benjamini, Hochberg, "Controlling the False Discovery Rate", 1995.
func Discoveries(p []float64, q float64) []bool {
	sorted := slices.Sorted(slices.Values(p))
	limit := -1.0
	for i, v := range sorted {
		if v <= q*float64(i+1)/float64(len(sorted)) {
			limit = v
		}
	}
	out := make([]bool, len(p))
	for i, v := range p {
		out[i] = v <= limit
	}
	return out
}

// FTail returns the probability that a ratio of variances with these degrees of freedom is
// at least f where there is nothing but noise.
func FTail(f float64, above, below int) float64 {
	return distuv.F{D1: float64(above), D2: float64(below)}.Survival(f)
}
