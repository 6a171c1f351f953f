package stat

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Term is one coefficient of a fitted line: its value, its standard error and its 95 %
// interval, in the units of y over those of x.
type Term struct{ Value, Error, Low, High float64 }

// Significant reports whether the interval leaves zero out.
func (t Term) Significant() bool { return t.Low > 0 || t.High < 0 }

// Line is y = Intercept + Slope·x by least squares.
type Line struct {
	Intercept, Slope Term
	// N is the number of points, SSE the sum of the squared residuals, weighted
	// as they were.
	N   int
	SSE float64
}

// Points are what a line is fitted to. W are their weights, nil where all weigh the same;
// points whose scatter grows with y are weighted by 1/y².
type Points struct{ X, Y, W []float64 }

func (p Points) weight(i int) float64 {
	if p.W == nil {
		return 1
	}
	return p.W[i]
}

// and returns the points of both.
func (p Points) and(o Points) Points {
	out := Points{X: slices.Concat(p.X, o.X), Y: slices.Concat(p.Y, o.Y)}
	if p.W != nil && o.W != nil {
		out.W = slices.Concat(p.W, o.W)
	}
	return out
}

// FitLine fits a line by least squares, weighted where there are weights; at least three
// points at two places are needed, since two points leave nothing to tell an error by.
func FitLine(p Points) (Line, error) {
	n := len(p.X)
	if n != len(p.Y) || p.W != nil && n != len(p.W) || n < 3 {
		return Line{}, errors.New("a line with its errors needs three points")
	}
	mean, squares, weight := stat.Mean(p.X, p.W), 0.0, 0.0
	for i, v := range p.X {
		squares += p.weight(i) * (v - mean) * (v - mean)
		weight += p.weight(i)
	}
	if !(squares > 0) {
		return Line{}, errors.New("a line needs points at two places")
	}
	a, b := stat.LinearRegression(p.X, p.Y, p.W, false)
	l := Line{N: n}
	for i, v := range p.X {
		r := p.Y[i] - a - b*v
		l.SSE += p.weight(i) * r * r
	}
	s2 := l.SSE / float64(n-2)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}.Quantile(0.975)
	term := func(v, variance float64) Term {
		e := math.Sqrt(variance)
		return Term{v, e, v - t*e, v + t*e}
	}
	l.Intercept = term(a, s2*(1/weight+mean*mean/squares))
	l.Slope = term(b, s2/squares)
	return l, nil
}
