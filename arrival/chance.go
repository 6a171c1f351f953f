package arrival

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
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
func (s stream) uniform() float64 { return (float64(s.rng.Uint64()>>11) + 0.5) / (1 << 53) }

// exponential returns a draw from the exponential law with the given mean.
func (s stream) exponential(mean float64) float64 { return -math.Log1p(-s.uniform()) * mean }
