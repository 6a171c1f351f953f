// Package trend says whether a series grows with time, and how fast, without assuming a
// law for its noise: the slope of Theil and Sen, and the exact test of Mann and Kendall. It
// also says where a series has settled.
//
// Both look at pairs of points alone, so that one wild value moves neither.
package trend

import (
	"math"
	"slices"
	"sync"
)

// Least is the number of points below which no order of the values is improbable enough
// to say anything at the level of a hundredth: five of them are in order by chance once in 120.
const Least = 5

// most bounds the points that are looked at: there are n(n-1)/2 pairs. Beyond it neighbours
// are joined to their median.
const most = 512

// Series is values over time, in the order in which they were added. The zero Series is
// empty and ready.
type Series struct{ t, y []float64 }

// Add adds a value at an instant, in whatever unit of time; the instants ascend. What is no
// number is left out.
func (s *Series) Add(t, y float64) {
	if finite(t) && finite(y) {
		s.t, s.y = append(s.t, t), append(s.y, y)
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Len returns the number of values.
func (s Series) Len() int { return len(s.y) }

// Slope returns the median of the slopes of all pairs, false where there is no pair.
func (s Series) Slope() (perUnit float64, ok bool) {
	s = s.joined()
	var slopes []float64
	for i := range s.y {
		for j := range i {
			if d := s.t[i] - s.t[j]; d > 0 {
				slopes = append(slopes, (s.y[i]-s.y[j])/d)
			}
		}
	}
	if len(slopes) == 0 {
		return 0, false
	}
	slices.Sort(slopes)
	n := len(slopes)
	return (slopes[(n-1)/2] + slopes[n/2]) / 2, true
}

// Against tests the slope against a limit: above is the probability that noise about a
// slope of at most the limit rises like this, below that noise about a slope of at least
// the limit falls back like this. Where neither is small the series cannot tell.
func (s Series) Against(limit float64) (above, below float64) {
	s = s.joined()
	rest := make([]float64, len(s.y))
	for i := range rest {
		rest[i] = s.y[i] - limit*(s.t[i]-s.t[0])
	}
	above = Rises(rest)
	for i := range rest {
		rest[i] = -rest[i]
	}
	return above, Rises(rest)
}

// joined returns the series with neighbours joined until it is short enough.
func (s Series) joined() Series {
	k := (len(s.y) + most - 1) / most
	if k <= 1 {
		return s
	}
	var out Series
	for i := 0; i < len(s.y); i += k {
		end := min(i+k, len(s.y))
		out.Add(Median(s.t[i:end]), Median(s.y[i:end]))
	}
	return out
}

// Median returns the median by nearest rank, 0 of nothing.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)+1)/2-1]
}

// Rises returns the probability that values in random order rise at least as much as
// these do: the one-sided test of Mann and Kendall. A pair of equal values counts as half
// out of order, and a half is rounded up: ties err towards no trend.
func Rises(y []float64) float64 {
	n := len(y)
	score := 0
	for i := range y {
		for j := range i {
			switch {
			case y[i] > y[j]:
				score++
			case y[i] < y[j]:
				score--
			}
		}
	}
	if n < 2 {
		return 1
	}
	if n > exact {
		sigma := math.Sqrt(float64(n) * float64(n-1) * float64(2*n+5) / 18)
		return math.Erfc((float64(score)-1)/sigma/math.Sqrt2) / 2
	}
	pairs := n * (n - 1) / 2
	tail := 0.0
	for _, p := range inversions[n]()[:(pairs-score+1)/2+1] {
		tail += p
	}
	return min(1, tail)
}

// exact is the number of values up to which the distribution is counted; beyond it the
// normal one is as good.
const exact = 100

// inversions holds, for each number of values, the law of inversionsOf, worked out when it is
// first wanted.
var inversions = func() (out [exact + 1]func() []float64) {
	for n := range out {
		out[n] = sync.OnceValue(func() []float64 { return inversionsOf(n) })
	}
	return out
}()

// inversionsOf returns, for each number of pairs out of order, the probability that a random
// order of n values has so many. The n-th value is out of order with 0 to n-1 of those
// before it, each as likely.
func inversionsOf(n int) []float64 {
	p := []float64{1}
	for k := 2; k <= n; k++ {
		next := make([]float64, k*(k-1)/2+1)
		window := 0.0
		for i := range next {
			if i < len(p) {
				window += p[i]
			}
			if i >= k {
				window -= p[i-k]
			}
			next[i] = max(0, window) / float64(k)
		}
		p = next
	}
	return p
}
