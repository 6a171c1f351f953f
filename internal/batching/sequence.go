package batching

import (
	"hash/fnv"
	"time"
)

// A Sequence is one request as the scheduler sees it. It belongs to one
// Scheduler from Add on and is not safe for concurrent use.
type Sequence struct {
	tokens  []int32 // the prompt, then every token that will be generated
	prompt  int
	salt    uint64
	arrival time.Duration

	state     state
	generated int      // how many of the tokens after the prompt exist already
	computed  int      // how many tokens have their KV in blocks
	blocks    []int32  // in order; block i holds tokens i·B … i·B+B−1
	hashes    []uint64 // chain hash of each full block, filled as far as needed

	cached      int // prompt tokens found in the cache at the first admission
	admitted    bool
	scheduled   time.Duration
	preemptions int
}

type state uint8

const (
	outside state = iota // not added yet, finished, or removed
	waiting
	running
)

// NewSequence makes a sequence that arrived at the given instant of the owner's
// clock, and will generate the given output tokens one by one. Salt names a cache
// namespace: sequences with different salts never share blocks.
func NewSequence(prompt, output []int32, salt string, arrival time.Duration) *Sequence {
	tokens := make([]int32, 0, len(prompt)+len(output))
	tokens = append(append(tokens, prompt...), output...)
	h := fnv.New64a()
	h.Write([]byte(salt))
	return &Sequence{tokens: tokens, prompt: len(prompt), salt: h.Sum64(), arrival: arrival}
}

// Generated is the number of output tokens so far.
func (s *Sequence) Generated() int { return s.generated }

// Cached is the number of prompt tokens that came from the prefix cache when the
// sequence was first admitted. The rest of the prompt was computed.
func (s *Sequence) Cached() int { return s.cached }

// Prompt is the number of prompt tokens.
func (s *Sequence) Prompt() int { return s.prompt }

// Depth is the number of tokens whose KV the sequence last held.
func (s *Sequence) Depth() int { return s.computed }

// Scheduled is the instant of the first step that held the sequence; ok is false
// while there was none.
func (s *Sequence) Scheduled() (at time.Duration, ok bool) { return s.scheduled, s.admitted }

// Preemptions is how often the sequence lost its blocks and had to be recomputed.
func (s *Sequence) Preemptions() int { return s.preemptions }

// Done says whether all output tokens exist.
func (s *Sequence) Done() bool { return s.prompt+s.generated == len(s.tokens) }

// length is the number of tokens that exist: the prompt and what was generated.
func (s *Sequence) length() int { return s.prompt + s.generated }

// hashOf returns the chain hash of full block i: equal hashes mean equal tokens
// from the first on, under the same salt.
func (s *Sequence) hashOf(i, size int) uint64 {
	for k := len(s.hashes); k <= i; k++ {
		h := s.salt
		if k > 0 {
			h = s.hashes[k-1]
		}
		for _, t := range s.tokens[k*size : (k+1)*size] {
			h = mix(h ^ uint64(uint32(t)))
		}
		s.hashes = append(s.hashes, max(h, 1)) // 0 means "not published"
	}
	return s.hashes[i]
}

// mix is the finaliser of SplitMix64: a bijection that spreads every input bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
