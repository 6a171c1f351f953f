package trend

import "math"

// batch is the number of observations in a batch mean of MSER-5.
const batch = 5

// LeastForWarmup is the number of observations below which [Warmup] cannot tell anything.
const LeastForWarmup = 4 * batch

// Warmup returns how many observations at the beginning of a series belong to its warm-up,
// by MSER-5: of batch means of five, the cut that minimises the squared standard error of
// the mean of the rest. It is not steady where the best cut is at half of the series, or
// where there are fewer than [LeastForWarmup] observations: then nothing is cut.
//
// Source: White, Cobb, Spratt, "A comparison of five steady-state truncation heuristics for
// simulation", WSC 2000.
func Warmup(values []float64) (cut int, steady bool) {
	if len(values) < LeastForWarmup {
		return 0, false
	}
	z := make([]float64, len(values)/batch)
	for i := range z {
		for _, v := range values[i*batch : (i+1)*batch] {
			z[i] += v / batch
		}
	}
	best, least := 0, math.Inf(1)
	for d := range len(z)/2 + 1 {
		if s := errorOfMean(z[d:]); s < least {
			best, least = d, s
		}
	}
	if best == len(z)/2 {
		return 0, false
	}
	return best * batch, true
}

// errorOfMean is the sum of squares about the mean over the square of the count.
func errorOfMean(z []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range z {
		mean += v / float64(len(z))
	}
	for _, v := range z {
		squares += (v - mean) * (v - mean)
	}
	return squares / float64(len(z)*len(z))
}
