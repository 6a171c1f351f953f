package stat

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Change fits one line to each of two sides and tells what the difference of the two is
// made of: y = a + b·x + Offset·g + Slope·g·x, with g = 0 before and 1 after.
type Change struct {
	Offset, Slope Term
	// OffsetP and SlopeP are the two-sided p of the t-tests, F and FP those of Chow's test that
	// one line fits both sides.
	OffsetP, SlopeP, F, FP float64
	// DF are the degrees of freedom that are left, SSE the sum of the squared residuals.
	DF  int
	SSE float64
}

// CompareLines tells how the line of the second side differs from that of the first.
//
// Source: Chow, "Tests of Equality Between Sets of Coefficients in Two Linear Regressions",
// Econometrica 1960.
func CompareLines(first, second Points) (Change, error) {
	before, err := FitLine(first)
	if err != nil {
		return Change{}, err
	}
	after, err := FitLine(second)
	if err != nil {
		return Change{}, err
	}
	both, err := FitLine(first.and(second))
	if err != nil {
		return Change{}, err
	}
	c := Change{DF: before.N + after.N - 4, SSE: before.SSE + after.SSE}
	if c.DF < 1 {
		return Change{}, errors.New("two lines need five points")
	}
	s2 := c.SSE / float64(c.DF)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(c.DF)}
	// The standard errors of each line hold its own variance; the joint model has one for both.
	joint := func(a, b Term) (Term, float64) {
		scale := func(e Term, l Line) float64 { return e.Error * e.Error / (l.SSE / float64(l.N-2)) }
		va, vb := scale(a, before), scale(b, after)
		d, e := b.Value-a.Value, math.Sqrt(s2*(va+vb))
		q := t.Quantile(0.975)
		return Term{d, e, d - q*e, d + q*e}, 2 * t.Survival(math.Abs(d/e))
	}
	if before.SSE == 0 || after.SSE == 0 {
		return Change{}, errors.New("the values lie on a line without any noise: nothing tells how wrong it is")
	}
	c.Offset, c.OffsetP = joint(before.Intercept, after.Intercept)
	c.Slope, c.SlopeP = joint(before.Slope, after.Slope)
	c.F = (both.SSE - c.SSE) / 2 / s2
	c.FP = distuv.F{D1: 2, D2: float64(c.DF)}.Survival(c.F)
	return c, nil
}

// FTail returns the probability that a ratio of variances with these degrees of freedom is
// at least f where there is nothing but noise.
func FTail(f float64, above, below int) float64 {
	return distuv.F{D1: float64(above), D2: float64(below)}.Survival(f)
}
