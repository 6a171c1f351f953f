package stat

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Term is one coefficient of a fitted line: its value, its standard error and its 95 %
// interval, in the units of y over those of x.
type Term struct{ Value, Error, Low, High float64 }

// Significant reports whether the interval leaves zero out.
func (t Term) Significant() bool { return t.Low > 0 || t.High < 0 }

// Line is y = Intercept + Slope·x by ordinary least squares.
type Line struct {
	Intercept, Slope Term
	// N is the number of points, SSE the sum of the squared residuals.
	N   int
	SSE float64
}

// FitLine fits a line; at least three points at two places are needed, since two points
// leave nothing to tell an error by.
func FitLine(x, y []float64) (Line, error) {
	n := len(x)
	if n != len(y) || n < 3 {
		return Line{}, errors.New("a line with its errors needs three points")
	}
	mean, squares := stat.Mean(x, nil), 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	if squares == 0 {
		return Line{}, errors.New("a line needs points at two places")
	}
	a, b := stat.LinearRegression(x, y, nil, false)
	l := Line{N: n}
	for i, v := range x {
		r := y[i] - a - b*v
		l.SSE += r * r
	}
	s2 := l.SSE / float64(n-2)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}.Quantile(0.975)
	term := func(v, variance float64) Term {
		e := math.Sqrt(variance)
		return Term{v, e, v - t*e, v + t*e}
	}
	l.Intercept = term(a, s2*(1/float64(n)+mean*mean/squares))
	l.Slope = term(b, s2/squares)
	return l, nil
}
