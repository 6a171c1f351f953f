package trend

import (
	"math"
	"testing"
)

// The series and the statistics are worked out by hand in White, Cobb and Spratt's terms.
func TestWarmupOfASeriesThatSettles(t *testing.T) {
	t.Parallel()
	series := []float64{
		9, 8, 7, 6, 5, 4, 4, 3, 3, 3, 2, 3, 2, 3, 2, 3, 2, 2, 3, 3,
		2, 3, 3, 2, 2, 3, 3, 2, 2, 3, 2, 2, 3, 2, 3, 3, 2, 2, 3, 2,
	}
	if cut, steady := Warmup(series); cut != 10 || !steady {
		t.Errorf("cut %d, steady %v, want 10 and steady", cut, steady)
	}
	z := []float64{7.0, 3.4, 2.4, 2.6, 2.4, 2.6, 2.4, 2.4}
	for d, want := range []float64{.277188, .016327, .001481, .001920, .001875} {
		if got := errorOfMean(z[d:]); math.Abs(got-want) > 6e-7 {
			t.Errorf("statistic for d=%d: %.6f, want %.6f", d, got, want)
		}
	}
}

func TestWarmupCannotTell(t *testing.T) {
	t.Parallel()
	if cut, steady := Warmup(make([]float64, LeastForWarmup-1)); cut != 0 || steady {
		t.Errorf("too few: cut %d, steady %v", cut, steady)
	}
	growing := make([]float64, 100)
	for i := range growing {
		growing[i] = float64(i)
	}
	if cut, steady := Warmup(growing); cut != 0 || steady {
		t.Errorf("a series that only grows: cut %d, steady %v", cut, steady)
	}
	if cut, steady := Warmup(make([]float64, 100)); cut != 0 || !steady {
		t.Errorf("a constant series: cut %d, steady %v", cut, steady)
	}
}
