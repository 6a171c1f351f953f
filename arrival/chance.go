package arrival

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// DefaultSeed is the seed of models written without one. It is recorded like any
// other.
const DefaultSeed = "infbench"

// stream is one named source of chance: each purpose and session has its own, so
// that adding a session never shifts another's draws. Uniform numbers are made
// here and turned into laws by the inverse distribution function, so a frozen
// sequence does not depend on the standard library's samplers.
type stream struct{ rng *rand.PCG }

func newStream(seed, purpose string, session int) stream {
	sum := sha256.Sum256([]byte(seed + "\x00" + purpose + "\x00" + strconv.Itoa(session)))
	return stream{rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))}
}

// uniform returns a number in (0, 1).
func (s stream) uniform() float64 { return unit(s.rng.Uint64()) }

// unit maps 64 random bits to (0, 1). The last of the 2⁵³ steps rounds up to 1 and is held
// below it.
func unit(bits uint64) float64 { return min((float64(bits>>11)+0.5)/(1<<53), 1-1.0/(1<<53)) }

// exponential returns a draw from the exponential law with the given mean.
func (s stream) exponential(mean float64) float64 { return -math.Log1p(-s.uniform()) * mean }

// weibull returns a draw from the Weibull law of scale 1.
func (s stream) weibull(shape float64) float64 {
	return math.Pow(-math.Log1p(-s.uniform()), 1/shape)
}

// normal returns a draw from the standard normal law.
func (s stream) normal() float64 { return math.Sqrt2 * math.Erfinv(2*s.uniform()-1) }

// gamma returns a draw from the gamma law of scale 1. It has no closed inverse, so the
// algorithm is pinned: Marsaglia and Tsang, "A Simple Method for Generating Gamma
// Variables" (2000), without the squeeze, which changes no result. Below shape 1 a draw
// of shape+1 is multiplied by u^(1/shape), u being drawn first.
func (s stream) gamma(shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = math.Pow(s.uniform(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(s.uniform()) < x*x/2+d-d*v+d*math.Log(v) {
			return boost * d * v
		}
	}
}

// longest is the longest gap or think time that is ever yielded. Heavy tails can draw
// more than a Duration holds; no run lasts that long.
const longest = 365 * 24 * time.Hour

// span turns seconds into a gap.
func span(seconds float64) time.Duration {
	return time.Duration(min(seconds*float64(time.Second), float64(longest)))
}
