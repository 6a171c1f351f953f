package stat

import (
	"math"
	"testing"
)

// Cold prefill times at three lengths, five each, before and after a change; the fits were
// worked out with another program to the digits shown.
func TestFitOfPrefillTimes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		times [3][5]float64
		a, b  Term
	}{
		"before": {
			[3][5]float64{{.861, .855, .868, .859, .863}, {1.672, 1.661, 1.690, 1.668, 1.680}, {3.302, 3.281, 3.330, 3.295, 3.315}},
			Term{.046000, .006810, .031288, .060712},
			Term{.099435, .000314, .098756, .100114},
		},
		"after": {
			[3][5]float64{{.905, .897, .910, .902, .899}, {1.801, 1.788, 1.812, 1.795, 1.806}, {3.590, 3.571, 3.618, 3.580, 3.602}},
			Term{.006700, .006488, -.007318, .020718},
			Term{.109429, .000299, .108782, .110076},
		},
	} {
		var x, y []float64
		for i, n := range []float64{8.192, 16.384, 32.768} {
			for _, v := range c.times[i] {
				x, y = append(x, n), append(y, v)
			}
		}
		l, err := FitLine(Points{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []struct{ got, want Term }{{l.Intercept, c.a}, {l.Slope, c.b}} {
			for _, v := range [][2]float64{{p.got.Value, p.want.Value}, {p.got.Error, p.want.Error}, {p.got.Low, p.want.Low}, {p.got.High, p.want.High}} {
				if math.Abs(v[0]-v[1]) > 6e-7 {
					t.Errorf("%s: %.6f, want %.6f", name, v[0], v[1])
				}
			}
		}
		if want := name == "before"; l.Intercept.Significant() != want {
			t.Errorf("%s: intercept significant: %v", name, !want)
		}
	}
}

func TestNoLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2][]float64{"two points": {{1, 2}, {1, 2}}, "one place": {{1, 1, 1}, {1, 2, 3}}, "odd": {{1, 2, 3}, {1, 2}}} {
		if _, err := FitLine(Points{X: c[0], Y: c[1]}); err == nil {
			t.Errorf("%s: fitted", name)
		}
	}
}
