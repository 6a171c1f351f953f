package arrival

import (
	"fmt"
	"math"
	"time"
)

var _ = register(shapedKind("gamma", Gamma))

type gamma struct{ shaped }

// Gamma is an open loop with independent gamma gaps of mean 1/rate and coefficient of
// variation 1/√shape: shape 1 is the Poisson process, below it arrivals come in bursts,
// above it they are smoother. vLLM's "burstiness" is this shape. vLLM then rescales the
// gaps so that the last request is due at n/rate exactly; here they are never rescaled,
// as in [Poisson].
func Gamma(requestsPerSecond, shape float64, seed string) (ArrivalModel, error) {
	s, err := newShaped(requestsPerSecond, shape, seed)
	if err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{gamma{s}}, nil
}

func (gamma) kind() string { return "gamma" }

func (g gamma) String() string {
	return fmt.Sprintf("open loop, gamma gaps of shape %g (CV %.3g), %g requests/s, seed %q", g.shape, g.cv(), g.rate, g.seed)
}

func (g gamma) label() string { return fmt.Sprintf("gamma:rate=%g,shape=%g", g.rate, g.shape) }

func (g gamma) cv() float64 { return 1 / math.Sqrt(g.shape) }

func (g gamma) scale() float64 { return 1 / (g.shape * g.rate) }

func (g gamma) gaps() func() (time.Duration, bool) {
	s := newStream(g.seed, "arrival", 0)
	return func() (time.Duration, bool) { return span(s.gamma(g.shape) * g.scale()), true }
}
