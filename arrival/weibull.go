package arrival

import (
	"fmt"
	"math"
	"time"
)

var _ = register(shapedKind("weibull", Weibull))

type weibull struct{ shaped }

// Weibull is an open loop with independent Weibull gaps of mean 1/rate: shape 1 is the
// Poisson process, below it the tail of long gaps is heavier than the gamma law's.
func Weibull(requestsPerSecond, shape float64, seed string) (ArrivalModel, error) {
	s, err := newShaped(requestsPerSecond, shape, seed)
	if err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{weibull{s}}, nil
}

func (weibull) kind() string { return "weibull" }

func (w weibull) String() string {
	return fmt.Sprintf("open loop, Weibull gaps of shape %g (CV %.3g), %g requests/s, seed %q", w.shape, w.cv(), w.rate, w.seed)
}

func (w weibull) label() string { return fmt.Sprintf("weibull:rate=%g,shape=%g", w.rate, w.shape) }

// cv is √(Γ(1+2/k)/Γ(1+1/k)² − 1).
func (w weibull) cv() float64 {
	one := math.Gamma(1 + 1/w.shape)
	return math.Sqrt(max(0, math.Gamma(1+2/w.shape)/(one*one)-1))
}

// scale is what makes the mean 1/rate.
func (w weibull) scale() float64 { return 1 / (w.rate * math.Gamma(1+1/w.shape)) }

func (w weibull) gaps() func() (time.Duration, bool) {
	s := newStream(w.seed, "arrival", 0)
	return func() (time.Duration, bool) { return span(s.weibull(w.shape) * w.scale()), true }
}
