package parity

import (
	"math"
	"math/rand/v2"
	"slices"
)

// An interval is a mean and the bounds that hold it with 95 % confidence.
type interval struct{ mean, low, high float64 }

// meanOf returns the mean over all values, and its bounds by drawing whole groups anew a
// thousand times: the positions of one prompt are no independent trials, its prompts are.
func meanOf(groups [][]float64) interval {
	const draws = 1000
	type part struct {
		sum float64
		n   int
	}
	var parts []part
	var total part
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		p := part{n: len(g)}
		for _, v := range g {
			p.sum += v
		}
		parts = append(parts, p)
		total.sum, total.n = total.sum+p.sum, total.n+p.n
	}
	if total.n == 0 {
		return interval{}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, draws)
	for i := range means {
		var t part
		for range parts {
			p := parts[rng.IntN(len(parts))]
			t.sum, t.n = t.sum+p.sum, t.n+p.n
		}
		means[i] = t.sum / float64(t.n)
	}
	slices.Sort(means)
	return interval{total.sum / float64(total.n), means[draws/40], means[draws-1-draws/40]}
}

// shareOf returns k of n and Wilson's bounds for it.
func shareOf(k, n int) interval {
	if n == 0 {
		return interval{}
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return interval{p, max(0, centre-half), min(1, centre+half)}
}

// signTest returns how likely it is that at least worse of worse+better differences go one
// way when both ways are equally likely: the exact one-sided test of McNemar.
func signTest(worse, better int) float64 {
	n := worse + better
	p := 0.0
	for k := worse; k <= n; k++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		p += math.Exp(a - b - c - float64(n)*math.Ln2)
	}
	return min(1, p)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
