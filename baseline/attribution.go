package baseline

import (
	"math"
	"strings"
	"time"

	"infbench/internal/stat"
)

// Attribution is what a change of a line is made of.
type Attribution struct {
	// Part is "per-token cost", "fixed overhead", "fixed overhead and per-token cost",
	// "changed, cannot attribute" or "".
	Part string
	// Offset is the change of the fixed overhead, PerThousand that of the cost of 1,000 tokens of
	// context, each with its 95 % interval; At is the depth in the middle of the suite, and the
	// last two what each of them comes to there.
	Offset, PerThousand     Interval
	At                      int
	OffsetThere, SlopeThere time.Duration
	// Extrapolated says that no depth is shallow enough to see the fixed overhead itself.
	Extrapolated bool
}

// Interval is a time with its 95 % interval.
type Interval struct{ Value, Low, High time.Duration }

// shallow is the depth up to which a fixed overhead is seen rather than extrapolated.
const shallow = 256

// attribute tells what the change of a line is made of: the term that its test finds, and of
// two the larger one at the depths that were measured.
func attribute(before, after timesByDepth) Attribution {
	x1, y1 := before.points()
	x2, y2 := after.points()
	// Times scatter in proportion to themselves: a long prompt must not drown what is fixed.
	c, err := stat.CompareLines(stat.Points{X: x1, Y: y1, W: weights(before)}, stat.Points{X: x2, Y: y2, W: weights(after)})
	if err != nil {
		return Attribution{}
	}
	at := before.depths[len(before.depths)/2]
	out := Attribution{
		Offset: interval(c.Offset), PerThousand: interval(c.Slope), At: int(at),
		OffsetThere: seconds(c.Offset.Value), SlopeThere: seconds(c.Slope.Value * at / 1000), Extrapolated: before.depths[0] > 2*shallow,
	}
	offset, slope := c.OffsetP <= falseRate, c.SlopeP <= falseRate
	switch {
	case offset && slope:
		large, small := math.Abs(float64(out.OffsetThere)), math.Abs(float64(out.SlopeThere))
		out.Part = "fixed overhead, and per-token cost"
		if small > large {
			out.Part = "per-token cost, and fixed overhead"
			large, small = small, large
		}
		if small*10 < large { // a line that bends fires both tests for the change of one
			out.Part, _, _ = strings.Cut(out.Part, ",")
		}
	case slope:
		out.Part = "per-token cost"
	case offset:
		out.Part = "fixed overhead"
	case c.FP <= falseRate:
		out.Part = "changed, cannot attribute"
	}
	return out
}

func interval(t stat.Term) Interval {
	return Interval{seconds(t.Value), seconds(t.Low), seconds(t.High)}
}
