package baseline

import (
	"time"

	"infbench/internal/stat"
	"infbench/internal/trend"
)

// Line is the time against context of one side.
type Line struct {
	Overhead, PerThousand Interval
	// Robust is the slope by Theil and Sen.
	Robust time.Duration
	// Curved says that a straight line does not hold the depths; it is known from four on.
	Curved, CurveKnown bool
}

// line fits the time against the context: false where the depths do not bear a line.
func (t timesByDepth) line() (Line, bool) {
	if len(t.depths) < 2 {
		return Line{}, false
	}
	x, y := t.points()
	fit, err := stat.FitLine(stat.Points{X: x, Y: y, W: weights(t)})
	if err != nil {
		return Line{}, false
	}
	var robust trend.Series
	for i, d := range t.depths {
		for _, v := range t.times[i] {
			robust.Add(d/1000, v)
		}
	}
	slope, _ := robust.Slope()
	l := Line{Overhead: interval(fit.Intercept), PerThousand: interval(fit.Slope), Robust: seconds(slope)}
	if p, ok := t.lackOfFit(fit); ok {
		l.CurveKnown, l.Curved = true, p <= 0.01
	}
	return l, true
}

// lackOfFit returns the p of the F-test that the means at the depths lie on the line; three
// depths have one degree of freedom for it, but only from four on is a curve claimed.
func (t timesByDepth) lackOfFit(fit stat.Line) (p float64, ok bool) {
	depths := len(t.depths)
	if depths < 4 {
		return 1, false
	}
	pure, n := 0.0, 0
	w := weights(t)
	for _, times := range t.times {
		mean := 0.0
		for _, v := range times {
			mean += v / float64(len(times))
		}
		for _, v := range times {
			pure += w[n] * (v - mean) * (v - mean)
			n++
		}
	}
	if n <= depths || pure <= 0 {
		return 1, false
	}
	return stat.FTail((max(0, fit.SSE-pure)/float64(depths-2))/(pure/float64(n-depths)), depths-2, n-depths), true
}
