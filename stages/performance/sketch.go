package performance

import "math/bits"

// sketch finds the median of positive numbers in bounded memory, within 1.6 %: it counts
// them in buckets, 32 to an octave. For a person who waits; a record keeps its samples.
type sketch struct {
	n       int
	buckets [subBuckets * 60]uint32
}

const subBuckets = 32

func (s *sketch) add(v int64) {
	s.n++
	s.buckets[bucketOf(v)]++
}

// median is the nearest-rank one; 0 of nothing.
func (s *sketch) median() int64 {
	rank, seen := (s.n+1)/2, 0
	for i, n := range s.buckets {
		if seen += int(n); n > 0 && seen >= rank {
			return middleOf(i)
		}
	}
	return 0
}

// bucketOf returns the bucket: small numbers have their own, others share one with those
// of the same leading six bits.
func bucketOf(v int64) int {
	v = max(v, 0)
	if v < 2*subBuckets {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - 6
	return shift*subBuckets + int(v>>shift)
}

// middleOf is the inverse of bucketOf, as far as there is one.
func middleOf(bucket int) int64 {
	if bucket < 2*subBuckets {
		return int64(bucket)
	}
	shift := bucket/subBuckets - 1
	return int64(bucket-shift*subBuckets)<<shift + 1<<shift>>1
}
