package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"infbench/internal/trend"
)

// Trust says whether the blocks of a level agree with each other: whether a value taken
// from it would come out again. The zero Trust says nothing.
type Trust struct {
	// Verdict is "agree", "untrusted", "drifting", or "" where it is withheld.
	Verdict string `json:"verdict,omitempty"`
	// Why says in words what was seen, or why there is no verdict.
	Why string `json:"why"`
}

// The verdicts of a [Trust].
const (
	Agree     = "agree"
	Untrusted = "untrusted"
	Drifting  = "drifting"
)

// leastPerBlock is the number of values that a block needs, and from manyPerBlock on the
// interquartile range says more about its spread than the range: with three blocks of five
// the false alarm is then 2.6 %, with three of ten 7 %.
const (
	leastPerBlock = 5
	manyPerBlock  = 10
	// driftLevel is half of the two-sided level at which a trend counts.
	driftLevel = 0.005
)

// trustOf compares repeat blocks: untrusted where the medians of the blocks lie further apart
// than the values within a block do, drifting where the values rise or fall with their order
// (Mann–Kendall, two-sided, at 1 %). Blocks hold the values in the order of their requests.
func trustOf(what string, blocks [][]time.Duration, mayGrow bool) Trust {
	if len(blocks) < 2 {
		return Trust{Why: "the level is one block"}
	}
	var medians, spreads []time.Duration
	var all trend.Series
	for i, b := range blocks {
		if len(b) < leastPerBlock {
			return Trust{Why: fmt.Sprintf("block %d of %d has %d good requests: %d each tell", i+1, len(blocks), len(b), leastPerBlock)}
		}
		for _, v := range b {
			all.Add(float64(all.Len()), float64(v))
		}
		sorted := slices.Sorted(slices.Values(b))
		medians = append(medians, nearest(sorted, 1, 2))
		if len(sorted) < manyPerBlock {
			spreads = append(spreads, sorted[len(sorted)-1]-sorted[0])
		} else {
			spreads = append(spreads, nearest(sorted, 3, 4)-nearest(sorted, 1, 4))
		}
	}
	apart := slices.Max(medians) - slices.Min(medians)
	slices.Sort(spreads)
	if within := nearest(spreads, 1, 2); apart > within {
		return Trust{Untrusted, fmt.Sprintf("the medians of %s of %d blocks lie %v apart, the values within a block %v", what, len(blocks), apart.Round(time.Microsecond), within.Round(time.Microsecond))}
	}
	if rises, falls := all.Against(0); !mayGrow && min(rises, falls) <= driftLevel {
		way := "rises"
		if falls < rises {
			way = "falls"
		}
		return Trust{Drifting, fmt.Sprintf("%s %s from request to request over the level", what, way)}
	}
	return Trust{Agree, fmt.Sprintf("%d blocks agree in %s", len(blocks), what)}
}

// blocksOf groups the values of good samples by their repeat block.
func blocksOf(good []Sample, value func(Sample) (time.Duration, bool)) [][]time.Duration {
	var out [][]time.Duration
	for _, s := range good {
		for len(out) <= s.Block {
			out = append(out, nil)
		}
		if v, ok := value(s); ok {
			out[s.Block] = append(out[s.Block], v)
		}
	}
	return out
}

// levelled returns values without what follows from the size of their requests, by the slope
// of Theil and Sen: where prompts grow from turn to turn their times do too, and blocks would
// differ for that alone.
func levelled(good []Sample, value func(Sample) (time.Duration, bool), size func(Sample) int) func(Sample) (time.Duration, bool) {
	bySize := slices.SortedFunc(slices.Values(good), func(a, b Sample) int { return cmp.Compare(size(a), size(b)) })
	var s trend.Series
	for _, g := range bySize {
		if v, ok := value(g); ok {
			s.Add(float64(size(g)), float64(v))
		}
	}
	slope, ok := s.Slope()
	if !ok {
		return value
	}
	middle := size(bySize[len(bySize)/2])
	return func(g Sample) (time.Duration, bool) {
		v, ok := value(g)
		return v - time.Duration(slope*float64(size(g)-middle)), ok
	}
}
