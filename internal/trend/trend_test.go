package trend

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(got, want, within float64) bool {
	return math.Abs(got-want) <= within*math.Max(1e-12, math.Abs(want))
}

func quadratic(n int, slope float64) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = float64(i*i*37%1009) + slope*float64(i)
	}
	return y
}

// The exact values are SciPy 1.17.1's: kendalltau(range(n), y, alternative="greater",
// method="exact").
func TestRises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		y      []float64
		want   float64
		within float64
	}{
		{[]float64{1, 2, 3, 4}, 1.0 / 24, 1e-9},
		{[]float64{1, 2, 4, 3}, 4.0 / 24, 1e-9},
		{[]float64{1, 2, 3, 4, 5}, 1.0 / 120, 1e-9},
		{[]float64{5, 4, 3, 2, 1}, 1, 1e-9},
		{[]float64{2, 1, 3, 5, 4, 6}, 0.027777777777777776, 1e-9},
		{[]float64{3, 1, 4, 2, 5, 7, 6, 9, 8, 10}, 0.00047315917107583776, 1e-9},
		{[]float64{3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 97, 93, 23, 84, 62, 64, 33, 83, 27, 95}, 0.000319080257891457, 1e-9},
		{quadratic(60, 1.0001), 0.06886583690850688, 1e-9},
		{quadratic(150, 2.000001), 0.00031240826315728955, 0.1}, // by the normal law, against the exact value
		{[]float64{7}, 1, 0},
		{nil, 1, 0},
	} {
		if got := Rises(c.y); !near(got, c.want, c.within) {
			t.Errorf("Rises(%v) = %v, want %v", c.y, got, c.want)
		}
	}
}

// SciPy 1.17.1's theilslopes.
func TestSlope(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t, y []float64
		want float64
	}{
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, []float64{10.1, 10.4, 10.2, 10.9, 30, 11.2, 11.3, 11.9, 11.6, 12.2, 12.1, 12.9}, 0.23333333333333334},
		{[]float64{0, 0.5, 1.2, 1.9, 3, 4.5, 4.6}, []float64{2.0, 2.3, 1.9, 2.8, 3.5, 3.4, 4.4}, 0.5},
		{nil, quadratic(300, 1.0001), 0.9041547945205479},
	} {
		var s Series
		for i, y := range c.y {
			at := float64(i)
			if c.t != nil {
				at = c.t[i]
			}
			s.Add(at, y)
		}
		if got, ok := s.Slope(); !ok || !near(got, c.want, 1e-9) {
			t.Errorf("slope of %v: %v, want %v", c.y, got, c.want)
		}
	}
	var one Series
	one.Add(1, 1)
	one.Add(2, math.NaN())
	if _, ok := one.Slope(); ok || one.Len() != 1 {
		t.Error("one value has a slope")
	}
}

// Every order of a few values, ties among them, tells the tail probability by counting.
// Without ties the test is exact; with ties it is never below.
func TestRisesByCounting(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{{1, 2, 3, 4, 5, 6}, {1, 1, 2, 3, 4}, {1, 1, 1, 2, 2, 3}, {4, 4, 4, 4}} {
		var all []int
		var orders [][]float64
		permute(values, func(y []float64) {
			all = append(all, scoreOf(y))
			orders = append(orders, slices.Clone(y))
		})
		tied := len(slices.Compact(slices.Clone(values))) < len(values)
		for i, y := range orders {
			n := 0
			for _, s := range all {
				if s >= all[i] {
					n++
				}
			}
			want := float64(n) / float64(len(all))
			if got := Rises(y); !tied && !near(got, want, 1e-9) || got < want-1e-9 && all[i] > 0 {
				t.Fatalf("Rises(%v) = %v, counted %v", y, got, want)
			}
		}
	}
}

func scoreOf(y []float64) int {
	s := 0
	for i := range y {
		for j := range i {
			if y[i] > y[j] {
				s++
			} else if y[i] < y[j] {
				s--
			}
		}
	}
	return s
}

func permute(y []float64, yield func([]float64)) {
	if len(y) <= 1 {
		yield(y)
		return
	}
	var walk func(k int)
	walk = func(k int) {
		if k == len(y) {
			yield(y)
			return
		}
		for i := k; i < len(y); i++ {
			y[k], y[i] = y[i], y[k]
			walk(k + 1)
			y[k], y[i] = y[i], y[k]
		}
	}
	walk(0)
}

// A line with noise that is symmetric about it: a limit well below the slope is exceeded,
// one well above is kept, and one at the slope cannot be told.
func TestAgainst(t *testing.T) {
	t.Parallel()
	var s Series
	for i := range 40 {
		s.Add(float64(i)/4, 100+3*float64(i)/4+[]float64{0, 2, -2, 1, -1}[i%5])
	}
	for limit, want := range map[float64][2]bool{1: {true, false}, 5: {false, true}, 3: {false, false}} {
		above, below := s.Against(limit)
		if got := [2]bool{above < 0.01, below < 0.01}; got != want {
			t.Errorf("against %v: above %v, below %v", limit, above, below)
		}
	}
	var constant Series
	for i := range Least {
		constant.Add(float64(i), 7)
	}
	if _, below := constant.Against(0.1); !near(below, 1.0/120, 1e-9) {
		t.Errorf("five equal values are below any limit with %v, want 1/120", below)
	}
}

// Scaling time and values scales the slope, and shifting them does not touch it; the test
// sees neither.
func TestUnitsDoNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 2, 40).Draw(t, "y")
		scale, shift := rapid.Float64Range(0.1, 10).Draw(t, "scale"), rapid.Float64Range(-100, 100).Draw(t, "shift")
		var a, b Series
		for i, y := range values {
			a.Add(float64(i), y)
			b.Add(shift+2*float64(i), y*scale+shift)
		}
		x, _ := a.Slope()
		y, _ := b.Slope()
		if math.Abs(y-x*scale/2) > 1e-6*(1+math.Abs(x)) {
			t.Fatalf("slopes %v and %v at scale %v", x, y, scale)
		}
		if up, down := Rises(values), Rises(negated(values)); up < 0 || up > 1 || up+down < 1-1e-9 {
			t.Fatalf("up %v, down %v", up, down)
		}
	})
}

func negated(y []float64) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		out[i] = -y[i]
	}
	return out
}

// Long series are joined: still the right slope, in bounded time.
func TestLongSeries(t *testing.T) {
	t.Parallel()
	var s Series
	for i := range 20_000 {
		s.Add(float64(i), 5+0.25*float64(i)+float64(i%7))
	}
	if got, _ := s.Slope(); !near(got, 0.25, 1e-3) {
		t.Errorf("slope %v, want 0.25", got)
	}
	if n := s.joined().Len(); n > most {
		t.Errorf("%d points are looked at", n)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 1}, {[]float64{12, 15, 11, 40, 13, 14, 12, 16, 18, 13}, 13}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
}
