package stat

import (
	"slices"
)

// Discoveries returns which of several p belong to a change, at a rate of false ones of at
// most q among them.
//
// Source: Benjamini, Hochberg, "Controlling the False Discovery Rate", 1995.
func Discoveries(p []float64, q float64) []bool {
	sorted := slices.Sorted(slices.Values(p))
	limit := -1.0
	for i, v := range sorted {
		if v <= q*float64(i+1)/float64(len(sorted)) {
			limit = v
		}
	}
	out := make([]bool, len(p))
	for i, v := range p {
		out[i] = v <= limit
	}
	return out
}
