package correctness

import (
	"math"
	"testing"
)

// The lady tasting tea has 1 in 70; the others are counted by hand from the hypergeometric
// distribution.
func TestMoreOften(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, n, b, m int
		want       float64
	}{
		{4, 4, 0, 4, 1.0 / 70},
		{3, 4, 1, 4, 17.0 / 70},
		{3, 3, 0, 3, 1.0 / 20},
		{0, 5, 0, 5, 1},
		{2, 2, 2, 2, 1},
		{17, 20, 0, 8, 1140.0 / 21474180}, // C(20,17)·C(8,0)/C(28,17)
	} {
		if got := moreOften(c.a, c.n, c.b, c.m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d/%d against %d/%d: %g, want %g", c.a, c.n, c.b, c.m, got, c.want)
		}
	}
}
