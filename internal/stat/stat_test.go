package stat_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"infbench/internal/stat"
)

// The vectors were computed elsewhere by exact formulas.
func TestShareLower(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		n, failures int
		want        float64
	}{
		{100, 0, .970487},
		{299, 0, .990031},
		{300, 1, .984285},
		{473, 1, .990010},
		{1000, 3, .992265},
		{1000, 5, .989516},
		{0, 0, 0},
		{5, 5, 0},
		{5, 6, 0},
		{5, -1, 0},
		{-1, 0, 0},
	} {
		if got := stat.ShareLower(v.n, v.failures, .95); math.Abs(got-v.want) > 5e-7 {
			t.Errorf("%d failures of %d: %.7f, want %.6f", v.failures, v.n, got, v.want)
		}
	}
}

func TestLeastTrials(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		share, confidence float64
		want              []int // for 0, 1, 2 … failures
	}{
		{.99, .95, []int{299, 473, 628, 773, 913, 1049}},   // a share of .99 at 95 %
		{.99, .99, []int{459, 662, 838, 1001, 1157, 1307}}, // MLPerf's early stopping at p99
		{.90, .99, []int{44, 64, 81, 97}},                  // and at p90
		{.5, .95, []int{5}},
		{.9, .95, []int{29}},
		{.95, .95, []int{59}},
		{.999, .95, []int{2995}},
		{.5, .99, []int{7}},
		{.95, .99, []int{90}},
		{.999, .99, []int{4603}},
	} {
		for failures, want := range v.want {
			if got, ok := stat.LeastTrials(failures, v.share, v.confidence); !ok || got != want {
				t.Errorf("share %v at %v with %d failures: %d %v, want %d", v.share, v.confidence, failures, got, ok, want)
			}
		}
	}
	for _, v := range []struct {
		failures          int
		share, confidence float64
	}{{-1, .9, .9}, {0, 1, .9}, {0, 0, .9}, {0, .9, 1}, {0, .9, 0}, {0, math.NaN(), .9}, {0, .9, math.NaN()}, {0, 1 - 1e-16, .95}} {
		if got, ok := stat.LeastTrials(v.failures, v.share, v.confidence); ok || got != 0 {
			t.Errorf("%+v: %d %v, want none", v, got, ok)
		}
	}
}

func TestRanks(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		n            int
		p            float64
		lower, upper int
		coverage     float64
	}{
		{6, .5, 1, 6, .96875},
		{20, .5, 6, 15, .95861},
		{60, .95, 53, 61, .99021},
		{100, .95, 90, 100, .98261},
		{200, .95, 184, 197, .96715},
		{100, .99, 97, 101, .98163},
		{500, .99, 490, 500, .98019},
		{1000, .99, 983, 997, .97609},
	} {
		l, u := stat.Ranks(v.n, v.p, .95)
		if l != v.lower || u != v.upper {
			t.Errorf("n=%d p=%v: ranks %d to %d, want %d to %d", v.n, v.p, l, u, v.lower, v.upper)
		}
		if got := stat.Coverage(v.n, v.p, l, u); math.Abs(got-v.coverage) > 5e-6 {
			t.Errorf("n=%d p=%v: coverage %.6f, want %.5f", v.n, v.p, got, v.coverage)
		}
	}
	// Five repeats have no interval of 95 % for the median; from the least to the
	// greatest they cover 93.75 %.
	if l, u := stat.Ranks(5, .5, .95); l != 0 || u != 6 {
		t.Errorf("five samples: ranks %d to %d, want none on either side", l, u)
	}
	if got := stat.Coverage(5, .5, 1, 5); math.Abs(got-.9375) > 1e-12 {
		t.Errorf("five samples cover %v, want 0.9375", got)
	}
	if l, u := stat.Ranks(0, .5, .95); l != 0 || u != 1 {
		t.Errorf("no sample: ranks %d to %d", l, u)
	}
}

func TestUpperRank(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		p     float64
		least int
	}{{.5, 5}, {.9, 29}, {.95, 59}, {.99, 299}, {.999, 2995}} {
		if _, ok := stat.UpperRank(v.least-1, v.p, .95); ok {
			t.Errorf("p=%v: %d samples have a bound", v.p, v.least-1)
		}
		if rank, ok := stat.UpperRank(v.least, v.p, .95); !ok || rank != v.least {
			t.Errorf("p=%v: rank %d %v of %d samples, want the greatest", v.p, rank, ok, v.least)
		}
	}
	if rank, ok := stat.UpperRank(0, .5, .95); ok {
		t.Errorf("no sample has the bound of rank %d", rank)
	}
}

// binomial sums the law of at most k in n trials term by term, in another way than the code
// under test does.
func binomial(n, k int, p float64) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		ln, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(ln - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// The ranks are what their definition says, by a sum over the law itself.
func TestRanksByDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		p := rapid.SampledFrom([]float64{.1, .5, .9, .95, .99}).Draw(t, "p")
		l, u := stat.Ranks(n, p, .95)
		const slack = 1e-9
		if l > 0 && binomial(n, l-1, p) > .025+slack || l < n && binomial(n, l, p) < .025-slack {
			t.Fatalf("n=%d p=%v: lower rank %d", n, p, l)
		}
		if u <= n && 1-binomial(n, u-1, p) > .025+slack || u > 1 && 1-binomial(n, u-2, p) < .025-slack {
			t.Fatalf("n=%d p=%v: upper rank %d", n, p, u)
		}
		failures := rapid.IntRange(0, n-1).Draw(t, "failures")
		// At the bound itself so few failures are as improbable as the doubt allows.
		if low := stat.ShareLower(n, failures, .95); math.Abs(binomial(n, failures, 1-low)-.05) > 1e-6 {
			t.Fatalf("n=%d failures=%d: bound %v", n, failures, low)
		}
	})
}
