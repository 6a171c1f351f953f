package stat

import (
	"math"
	"slices"
	"testing"
)

func TestOutliers(t *testing.T) {
	t.Parallel()
	values := []float64{812, 805, 820, 809, 990}
	if got := scores(values)[4]; math.Abs(got-17.15) > .005 {
		t.Errorf("990 among them scores %.2f, want 17.15", got)
	}
	if got := Outliers(values); !slices.Equal(got, []int{4}) {
		t.Errorf("flagged %v", got)
	}
	for _, sound := range [][]float64{{812, 805, 820, 809, 815}, {1, 1, 1, 1, 9}, {1, 2, 90}, nil} {
		if got := Outliers(sound); got != nil {
			t.Errorf("%v: flagged %v", sound, got)
		}
	}
}
