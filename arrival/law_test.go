package arrival

import (
	"math"
	"slices"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.7g, want %.7g ± %.2g", what, got, want, tolerance)
	}
}

// Computed elsewhere, to the digits that are shown.
func TestLawVectors(t *testing.T) {
	t.Parallel()
	near(t, "exponential, u=0.5, rate 4", -math.Log1p(-0.5)/4, 0.173287, 5e-7)
	for _, c := range []struct{ shape, cv float64 }{{0.25, 2}, {0.5, 1.414214}, {1, 1}} {
		near(t, "gamma CV", gamma{shaped{4, c.shape, "a"}}.cv(), c.cv, 5e-7)
	}
	near(t, "gamma scale", gamma{shaped{4, 0.25, "a"}}.scale(), 1, 1e-12)
	for _, c := range []struct{ shape, cv, scale float64 }{{0.5, 2.236068, 0.125}, {0.7, 1.462425, 0.197500}, {1, 1, 0.25}} {
		near(t, "Weibull CV", weibull{shaped{4, c.shape, "a"}}.cv(), c.cv, 5e-7)
		near(t, "Weibull scale", weibull{shaped{4, c.shape, "a"}}.scale(), c.scale, 5e-7)
	}
	for _, c := range []struct {
		median, p95 time.Duration
		sigma, mean float64
		within      float64
	}{{9 * time.Second, 157 * time.Second, 1.738162, 40.77, 5e-3}, {208 * time.Second, 7835 * time.Second, 2.206165, 2371, 0.5}} {
		l := lognormalThink{c.median, c.p95}
		near(t, "lognormal sigma", l.sigma(), c.sigma, 1e-6)
		near(t, "lognormal mean", l.mean().Seconds(), c.mean, c.within)
	}
}

// distance returns the greatest distance between the empirical distribution of a sample
// and a law.
func distance(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n, worst := float64(len(sample)), 0.0
	for i, x := range sample {
		f := cdf(x)
		worst = max(worst, f-float64(i)/n, float64(i+1)/n-f)
	}
	return worst
}

// Each law against its distribution function. 1.95/√n is exceeded by one sample in a
// thousand (Kolmogorov); the samples are frozen.
func TestLaws(t *testing.T) {
	t.Parallel()
	const n = 20_000
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	sigma := lognormalThink{9 * time.Second, 157 * time.Second}.sigma()
	think := lognormalThink{9 * time.Second, 157 * time.Second}
	for name, c := range map[string]struct {
		draw func(stream) float64
		cdf  func(float64) float64
	}{
		"exponential":     {func(s stream) float64 { return s.exponential(1) }, func(x float64) float64 { return 1 - math.Exp(-x) }},
		"normal":          {func(s stream) float64 { return s.normal() }, normal},
		"weibull 0.7":     {func(s stream) float64 { return s.weibull(0.7) }, func(x float64) float64 { return 1 - math.Exp(-math.Pow(x, 0.7)) }},
		"gamma 0.5":       {func(s stream) float64 { return s.gamma(0.5) }, func(x float64) float64 { return math.Erf(math.Sqrt(x)) }},
		"gamma 1":         {func(s stream) float64 { return s.gamma(1) }, func(x float64) float64 { return 1 - math.Exp(-x) }},
		"gamma 3":         {func(s stream) float64 { return s.gamma(3) }, func(x float64) float64 { return 1 - math.Exp(-x)*(1+x+x*x/2) }},
		"lognormal think": {func(s stream) float64 { return think.draw(s).Seconds() }, func(x float64) float64 { return normal(math.Log(x/9) / sigma) }},
		// The integral of (1−F)/mean of the lognormal law, in closed form.
		"lognormal residual": {func(s stream) float64 { return think.residual(s).Seconds() }, func(x float64) float64 {
			z := math.Log(x/9) / sigma
			return normal(z-sigma) + x*(1-normal(z))/think.mean().Seconds()
		}},
		"constant residual": {func(s stream) float64 { return constantThink{4 * time.Second}.residual(s).Seconds() }, func(x float64) float64 { return x / 4 }},
	} {
		sample := make([]float64, n)
		s := newStream("laws", name, 0)
		for i := range sample {
			sample[i] = c.draw(s)
		}
		if d := distance(sample, c.cdf); d > 1.95/math.Sqrt(n) {
			t.Errorf("%s is %.4f from its law, want at most %.4f", name, d, 1.95/math.Sqrt(n))
		}
	}
}

// The counts of a ramp, transformed by the expected count, are a Poisson process of rate
// 1: the gaps of Λ(due) are exponential.
func TestRampIsPoissonAtEveryRate(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for _, r := range []ramp{{0, 2000, 10 * time.Second, "a"}, {3000, 1, 10 * time.Second, "a"}, {500, 500, time.Second, "a"}, {1, 4000, time.Second, "b"}} {
		next := r.gaps()
		due, last := 0.0, 0.0
		sample := make([]float64, n)
		for i := range sample {
			gap, _ := next()
			if gap < 0 {
				t.Fatalf("%+v: a gap of %v", r, gap)
			}
			due += gap.Seconds()
			in := min(due, r.over.Seconds())
			count := r.from*in + (r.to-r.from)*in*in/(2*r.over.Seconds()) + r.to*max(0, due-r.over.Seconds())
			sample[i], last = count-last, count
		}
		if d := distance(sample, func(x float64) float64 { return 1 - math.Exp(-x) }); d > 1.95/math.Sqrt(n) {
			t.Errorf("%+v: %.4f from the law", r, d)
		}
	}
}

// Whatever the parameters, a gap is one.
func TestGapsAreGaps(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{minRate, 1, maxRate} {
		for _, shape := range []float64{minShape, 0.5, 1, 7, maxShape} {
			for _, m := range []opened{gamma{shaped{rate, shape, "a"}}, weibull{shaped{rate, shape, "a"}}} {
				next := m.gaps()
				for range 2000 {
					if gap, more := next(); gap < 0 || gap > longest || !more {
						t.Fatalf("%+v: a gap of %v", m, gap)
					}
				}
			}
		}
	}
	think := lognormalThink{1, maxThink}
	s := newStream("a", "think", 0)
	for range 2000 {
		if d, r := think.draw(s), think.residual(s); d < 0 || r < 0 || d > longest || r > longest {
			t.Fatalf("think times of %v and %v", d, r)
		}
	}
}

// starts returns when the first requests of an open loop are due.
func starts(t *testing.T, form string, n int) []time.Duration {
	t.Helper()
	m, err := Parse(form)
	if err != nil {
		t.Fatal(err)
	}
	next := m.m.(opened).gaps()
	out := make([]time.Duration, n)
	var at time.Duration
	for i := range out {
		gap, _ := next()
		at += gap
		out[i] = at
	}
	return out
}

func known(t *testing.T, what string, s Statistic, want, within float64) {
	t.Helper()
	v, ok := s.Value()
	if !ok {
		t.Errorf("%s: %s", what, s)
	}
	near(t, what, v, want, within)
}

// A Poisson process has 1 at every window: with w windows the index has a standard
// deviation of √(2/(w−1)), the CV of n gaps one of 1/√n; 4σ.
func TestPoissonIsEven(t *testing.T) {
	t.Parallel()
	const n, rate = 40_000, 20.0
	g := GapsOf(starts(t, "poisson:rate=20,seed=idc", n))
	known(t, "rate", g.RequestsPerSecond, rate, 4*rate/math.Sqrt(n))
	known(t, "CV", g.GapCV, 1, 4/math.Sqrt(n))
	for _, w := range []struct {
		s       Statistic
		windows float64
	}{{g.Dispersion1s, n / rate}, {g.Dispersion10s, n / rate / 10}, {g.Dispersion60s, n / rate / 60}} {
		known(t, "dispersion", w.s, 1, 4*math.Sqrt(2/(w.windows-2)))
	}
	// A rate that drifts: the gaps look as even as before, the counts do not.
	r := GapsOf(starts(t, "ramp:from=10,to=30,over=2000s,seed=idc", n))
	if v, ok := r.Dispersion60s.Value(); !ok || v < 10 {
		t.Errorf("a ramp has a dispersion of %s over a minute", r.Dispersion60s)
	}
}

// For the gamma and the Weibull law the coefficient of variation is a closed form; what
// n=40,000 gaps give lies within a twentieth of it here.
func TestShapeIsCV(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]float64{"gamma:rate=20,shape=0.25": 2, "gamma:rate=20,shape=4": 0.5, "weibull:rate=20,shape=0.7": 1.462425} {
		g := GapsOf(starts(t, form, 40_000))
		known(t, form, g.GapCV, want, want/20)
		known(t, form, g.RequestsPerSecond, 20, 4*20*want/math.Sqrt(40_000))
	}
}
