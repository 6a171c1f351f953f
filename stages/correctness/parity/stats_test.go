package parity

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

// Wilson's bounds as the formula gives them in another language.
func TestShareOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{50, 100, 0.403832, 0.596168}, {0, 10, 0, 0.277533}, {10, 10, 0.722467, 1}, {459, 469, 0.961200, 0.988378}} {
		got := shareOf(c.k, c.n)
		near(t, "low", got.low, c.low, 1e-5)
		near(t, "high", got.high, c.high, 1e-5)
	}
	if got := shareOf(0, 0); got != (interval{}) {
		t.Errorf("a share of nothing is %v", got)
	}
}

// By counting: 7 of 7 is one in 2⁷, 5 or 6 of 6 are 7 in 2⁶, 0 of anything is certain.
func TestSignTest(t *testing.T) {
	t.Parallel()
	near(t, "7:0", signTest(7, 0), 1.0/128, 1e-12)
	near(t, "5:1", signTest(5, 1), 7.0/64, 1e-12)
	near(t, "0:3", signTest(0, 3), 1, 1e-12)
	near(t, "0:0", signTest(0, 0), 1, 1e-12)
}

// The bounds hold the true mean in about 95 of 100 draws, also where values of one group
// go together; 200 draws of a share of 0.95 stay above 0.95 - 4σ.
func TestMeanOfCovers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	const rounds = 200
	held := 0
	for range rounds {
		var groups [][]float64
		for range 64 {
			base := rng.ExpFloat64() // of mean 1
			g := make([]float64, 8)
			for i := range g {
				g[i] = base * 2 * rng.Float64()
			}
			groups = append(groups, g)
		}
		if m := meanOf(groups); m.low <= 1 && 1 <= m.high {
			held++
		}
	}
	if least := int(rounds * (0.93 - 4*math.Sqrt(0.95*0.05/rounds))); held < least {
		t.Errorf("the bounds held the mean in %d of %d rounds, want %d", held, rounds, least)
	}
	if m := meanOf([][]float64{{2, 2}, nil, {2}}); m != (interval{2, 2, 2}) {
		t.Errorf("equal values have the mean %v", m)
	}
	if m := meanOf(nil); m != (interval{}) {
		t.Errorf("nothing has the mean %v", m)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, list := range map[float64][]float64{2: {3, 1, 2}, 1: {1, 4}, 0: nil, 9: {9}} {
		if got := median(list); got != want {
			t.Errorf("median of %v: got %v, want %v", list, got, want)
		}
	}
}
