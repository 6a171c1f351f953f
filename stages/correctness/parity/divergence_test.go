package parity

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Two lists by hand. Reference: a 1/2, b 1/4, the rest 1/4. Target: a 1/4, b 1/4, the rest
// 1/2. The divergence is 1/2·ln 2 + 0 + 1/4·ln(1/2) = 1/4·ln 2.
func TestDivergenceByHand(t *testing.T) {
	t.Parallel()
	reference := []scored{{"a", math.Log(0.5)}, {"b", math.Log(0.25)}}
	target := []scored{{"b", math.Log(0.25)}, {"a", math.Log(0.25)}, {"c", math.Log(0.2)}}
	if got, want := divergence(common(reference, target)), math.Ln2/4; math.Abs(got-want) > 1e-12 {
		t.Errorf("divergence %v, want %v", got, want)
	}
	if got := divergence(common(reference, reference)); got != 0 {
		t.Errorf("a list diverges from itself by %v", got)
	}
	if got := divergence(common(reference, []scored{{"x", math.Log(0.9)}})); got != 0 {
		t.Errorf("lists that share nothing show a divergence of %v", got)
	}
}

// Whatever two distributions are, the divergence over the listed tokens is never negative
// and never above that over the whole vocabulary.
func TestDivergenceIsALowerBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "vocabulary")
		p, q := distribution(t, n, "reference"), distribution(t, n, "target")
		full := 0.0
		for i := range p {
			full += p[i] * math.Log(p[i]/q[i])
		}
		k := rapid.IntRange(1, 20).Draw(t, "listed")
		got := divergence(common(likeliest(p, k), likeliest(q, k)))
		if got < 0 || got > full+1e-9 {
			t.Fatalf("the lists of %d of %d tokens show %v, the whole vocabulary %v", k, n, got, full)
		}
		if k >= n && math.Abs(got-full) > 1e-6 {
			t.Fatalf("all %d tokens are listed and show %v, want %v", n, got, full)
		}
	})
}

func distribution(t *rapid.T, n int, label string) []float64 {
	p := make([]float64, n)
	sum := 0.0
	for i := range p {
		p[i] = math.Exp(rapid.Float64Range(-12, 6).Draw(t, label))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func likeliest(p []float64, k int) []scored {
	var list []scored
	for i, v := range p {
		list = append(list, scored{string(rune('A' + i)), math.Log(v)})
	}
	list = named(list)
	return list[:min(k, len(list))]
}
