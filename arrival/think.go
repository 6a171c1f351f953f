package arrival

import (
	"fmt"
	"math"
	"time"
)

// Think is a law of the think times of a closed loop. [ExponentialThink],
// [LognormalThink] and [ConstantThink] make one; the zero Think is no think time.
type Think struct{ law thinkLaw }

// thinkLaw is one law of think times.
type thinkLaw interface {
	fmt.Stringer
	name() string
	mean() time.Duration
	// draw returns a think time.
	draw(s stream) time.Duration
	// residual returns what is left of the think time that somebody is in who is met at
	// a random moment: its density is (1−F(t))/mean.
	residual(s stream) time.Duration
	// keys returns the law's parameters in the form that Parse reads.
	keys() string
}

// maxThink bounds the parameters of a law.
const maxThink = 24 * time.Hour

func checkThink(what string, d time.Duration) error {
	if d <= 0 || d > maxThink {
		return fmt.Errorf("a %s think time of %v: want more than 0 and at most 24h", what, d)
	}
	return nil
}

// IsZero reports whether there is no think time.
func (t Think) IsZero() bool { return t.law == nil }

// Mean returns the mean of the law, which is what the load of a closed loop depends on.
func (t Think) Mean() time.Duration {
	if t.law == nil {
		return 0
	}
	return t.law.mean()
}

type exponentialThink struct{ m time.Duration }

// ExponentialThink is the exponential law with the given mean.
func ExponentialThink(mean time.Duration) (Think, error) {
	if err := checkThink("mean", mean); err != nil {
		return Think{}, err
	}
	return Think{exponentialThink{mean}}, nil
}

func (exponentialThink) name() string          { return "exponential" }
func (t exponentialThink) mean() time.Duration { return t.m }
func (t exponentialThink) String() string      { return fmt.Sprintf("exponential with mean %v", t.m) }
func (t exponentialThink) keys() string        { return fmt.Sprintf("think=%v", t.m) }

func (t exponentialThink) draw(s stream) time.Duration {
	return time.Duration(s.exponential(float64(t.m)))
}

// residual is the law itself: it has no memory.
func (t exponentialThink) residual(s stream) time.Duration { return t.draw(s) }

type constantThink struct{ d time.Duration }

// ConstantThink is the same think time every time.
func ConstantThink(d time.Duration) (Think, error) {
	if err := checkThink("constant", d); err != nil {
		return Think{}, err
	}
	return Think{constantThink{d}}, nil
}

func (constantThink) name() string                  { return "constant" }
func (t constantThink) mean() time.Duration         { return t.d }
func (t constantThink) String() string              { return fmt.Sprintf("constant %v", t.d) }
func (t constantThink) keys() string                { return fmt.Sprintf("think=%v,think-law=constant", t.d) }
func (t constantThink) draw(_ stream) time.Duration { return t.d }

// residual is uniform.
func (t constantThink) residual(s stream) time.Duration {
	return time.Duration(s.uniform() * float64(t.d))
}

type lognormalThink struct{ median, p95 time.Duration }

// LognormalThink is the lognormal law with the given median and 95th percentile, as they
// are read off a log: μ = ln(median), σ = ln(p95/median)/1.644854. Its mean is e^(μ+σ²/2)
// and often far from the median; compare it with the mean of the log.
func LognormalThink(median, p95 time.Duration) (Think, error) {
	if err := checkThink("median", median); err != nil {
		return Think{}, err
	}
	if p95 <= median || p95 > maxThink {
		return Think{}, fmt.Errorf("a 95th percentile of think time of %v: want more than the median %v and at most 24h", p95, median)
	}
	return Think{lognormalThink{median, p95}}, nil
}

// z95 is the 95th percentile of the standard normal law.
const z95 = 1.6448536269514722

func (t lognormalThink) sigma() float64 {
	return math.Log(t.p95.Seconds()/t.median.Seconds()) / z95
}

// power returns the median times e^(x).
func (t lognormalThink) power(x float64) time.Duration { return span(t.median.Seconds() * math.Exp(x)) }

func (lognormalThink) name() string { return "lognormal" }

func (t lognormalThink) mean() time.Duration { return t.power(t.sigma() * t.sigma() / 2) }

func (t lognormalThink) String() string {
	return fmt.Sprintf("lognormal with median %v and 95th percentile %v (mean %v)", t.median, t.p95, t.mean().Round(time.Millisecond))
}

func (t lognormalThink) keys() string {
	return fmt.Sprintf("think-p50=%v,think-p95=%v", t.median, t.p95)
}

func (t lognormalThink) draw(s stream) time.Duration { return t.power(t.sigma() * s.normal()) }

// residual is a uniform share of a think time drawn by its length: long ones are met more
// often. The length-biased lognormal law is the lognormal law with σ² added to μ.
func (t lognormalThink) residual(s stream) time.Duration {
	sigma := t.sigma()
	whole := t.power(sigma*sigma + sigma*s.normal())
	return time.Duration(s.uniform() * float64(whole))
}
