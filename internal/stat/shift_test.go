package stat

import (
	"math"
	"slices"
	"testing"
)

func close6(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 6e-7 {
		t.Errorf("%s: %.6f, want %.6f", what, got, want)
	}
}

// The probabilities of 5 against 5 are those of tables.
func TestExactProbabilitiesOfTheRankTest(t *testing.T) {
	t.Parallel()
	base := []float64{1, 2, 3, 4, 5}
	for _, c := range []struct {
		b    []float64
		u, p float64
	}{
		{[]float64{6, 7, 8, 9, 10}, 0, .007937},
		{[]float64{4.5, 7, 8, 9, 10}, 1, .015873},
		{[]float64{3.5, 7, 8, 9, 10}, 2, .031746},
		{[]float64{2.5, 7, 8, 9, 10}, 3, .055556},
		{[]float64{1.5, 7, 8, 9, 10}, 4, .095238},
	} {
		for _, sides := range [][2][]float64{{base, c.b}, {c.b, base}} {
			r, err := MannWhitney(sides[0], sides[1])
			if err != nil {
				t.Fatal(err)
			}
			close6(t, "U", r.U, c.u)
			close6(t, "p", r.P, c.p)
		}
	}
	tied, err := MannWhitney([]float64{10, 10, 11, 12, 12}, []float64{12, 13, 13, 14, 15})
	if err != nil {
		t.Fatal(err)
	}
	close6(t, "U with ties", tied.U, 1)
	close6(t, "p with ties", tied.P, .023810)
	for _, c := range []struct {
		n, m int
		p    float64
	}{{3, 3, .1}, {3, 5, .035714}, {4, 4, .028571}, {5, 5, .007937}, {6, 6, .002165}, {7, 7, .000583}} {
		close6(t, "smallest p", SmallestP(c.n, c.m), c.p)
	}
}

var (
	sideA = []float64{812, 805, 820, 809, 815}
	sideB = []float64{830, 826, 835, 811, 828}
)

func TestShiftAndItsInterval(t *testing.T) {
	t.Parallel()
	s, err := HodgesLehmann(sideA, sideB)
	if err != nil {
		t.Fatal(err)
	}
	if s.Value != 15 || s.Low != -1 || s.High != 25 {
		t.Errorf("%+v, want 15 from -1 to 25", s)
	}
	close6(t, "coverage", s.Coverage, 1-.031746)
	r, err := MannWhitney(sideA, sideB)
	if err != nil {
		t.Fatal(err)
	}
	close6(t, "U", r.U, 3)
	close6(t, "p", r.P, .055556)
	// Three against three cannot be bounded at 95 %.
	s, err = HodgesLehmann([]float64{1, 2, 3}, []float64{4, 5, 6})
	if err != nil || s.Coverage != 0 || !math.IsInf(s.Low, -1) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSmallestShiftThatShows(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{3: 3.07, 5: 2.02, 7: 1.63, 10: 1.33, 20: .91} {
		if got := Detectable(n); math.Abs(got-want) > .006 {
			t.Errorf("%d repeats: %.3f sd, want %.2f", n, got, want)
		}
	}
}

func TestWhatAChangeOfPrefillIsMadeOf(t *testing.T) {
	t.Parallel()
	points := func(times [3][5]float64) (x, y []float64) {
		for i, n := range []float64{8.192, 16.384, 32.768} {
			for _, v := range times[i] {
				x, y = append(x, n), append(y, v)
			}
		}
		return x, y
	}
	x1, y1 := points([3][5]float64{{.861, .855, .868, .859, .863}, {1.672, 1.661, 1.690, 1.668, 1.680}, {3.302, 3.281, 3.330, 3.295, 3.315}})
	x2, y2 := points([3][5]float64{{.905, .897, .910, .902, .899}, {1.801, 1.788, 1.812, 1.795, 1.806}, {3.590, 3.571, 3.618, 3.580, 3.602}})
	c, err := CompareLines(Points{X: x1, Y: y1}, Points{X: x2, Y: y2})
	if err != nil {
		t.Fatal(err)
	}
	close6(t, "offset", c.Offset.Value, -.039300)
	close6(t, "its error", c.Offset.Error, .009406)
	close6(t, "its p", c.OffsetP, .000293)
	close6(t, "slope", c.Slope.Value, .009994)
	close6(t, "its error", c.Slope.Error, .000434)
	close6(t, "SSE", c.SSE, .00383407)
	if c.DF != 26 || math.Abs(c.F-850.624) > 6e-4 {
		t.Errorf("df %d, F %.3f", c.DF, c.F)
	}
}

// The example of Benjamini and Hochberg's paper: 15 p of a study, four discoveries at 5 %.
func TestDiscoveries(t *testing.T) {
	t.Parallel()
	p := []float64{.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1}
	got := Discoveries(p, .05)
	if n := len(slices.DeleteFunc(slices.Clone(got), func(b bool) bool { return !b })); n != 4 || !got[3] || got[4] {
		t.Errorf("%d discoveries: %v", n, got)
	}
}

// The same points weighted by the inverse squares of the means at their depth: the standard
// error of the overhead falls by two fifths.
func TestWeightedLine(t *testing.T) {
	t.Parallel()
	var p Points
	for i, side := range [3][5]float64{{.861, .855, .868, .859, .863}, {1.672, 1.661, 1.690, 1.668, 1.680}, {3.302, 3.281, 3.330, 3.295, 3.315}} {
		mean := (side[0] + side[1] + side[2] + side[3] + side[4]) / 5
		for _, v := range side {
			p.X, p.Y, p.W = append(p.X, []float64{8.192, 16.384, 32.768}[i]), append(p.Y, v), append(p.W, 1/(mean*mean))
		}
	}
	l, err := FitLine(p)
	if err != nil {
		t.Fatal(err)
	}
	close6(t, "overhead", l.Intercept.Value, .046920)
	close6(t, "its error", l.Intercept.Error, .004060)
	close6(t, "slope", l.Slope.Value, .099379)
	close6(t, "its error", l.Slope.Error, .000323)
}
