package stat

import (
	"math"
	"slices"
)

// farOut is the modified z-score beyond which a value is flagged.
const farOut = 3.5

// Outliers returns which values lie far from the others, by the modified z-score
// 0.6745·|x − median|/MAD. Where more than half are equal nothing can be said. A flagged value
// is told, and never left out: ranks and medians bear it.
//
// Source: Iglewicz, Hoaglin, "How to Detect and Handle Outliers", 1993.
func Outliers(values []float64) []int {
	var out []int
	for i, s := range scores(values) {
		if s > farOut {
			out = append(out, i)
		}
	}
	return out
}

func scores(values []float64) []float64 {
	if len(values) < 4 {
		return nil
	}
	middle := Median(values)
	var away []float64
	for _, v := range values {
		away = append(away, math.Abs(v-middle))
	}
	mad := Median(away)
	if mad == 0 {
		return nil
	}
	for i := range away {
		away[i] *= 0.6745 / mad
	}
	return away
}

// Median returns the median: of an even number of values the mean of the two in the middle.
// Of no value there is none.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
