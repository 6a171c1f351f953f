package stat

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

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
