package arch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Target is what a piece of code was compiled for: one of [CUDA], [AMD] and [CPU].
type Target interface {
	fmt.Stringer
	// On returns how the code reaches the device.
	On(d Device) Reach
	// Vendor returns whose devices the code is for.
	Vendor() Vendor
	rank() string
}

// Vendor says whose devices code is for. Code is judged on devices of its own vendor alone.
type Vendor string

// The vendors.
const (
	VendorNVIDIA Vendor = "nvidia"
	VendorAMD    Vendor = "amd"
	VendorCPU    Vendor = "cpu" // the processor beside the accelerator
)

// Unique returns the targets sorted, each once.
func Unique[T interface {
	comparable
	Target
}](ts []T) []T {
	slices.SortFunc(ts, func(a, b T) int { return cmp.Compare(a.rank(), b.rank()) })
	return slices.Clip(slices.Compact(ts))
}

// Join returns the targets in one line, "none" when there are none.
func Join[T Target](ts []T) string {
	if len(ts) == 0 {
		return "none"
	}
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.String()
	}
	return strings.Join(words, ", ")
}

// ParseTarget reads what String writes, such as "sm_90a", "compute_80 (PTX)",
// "gfx90a:xnack-" or "x86_64+avx2"; " (PTX)" may be left off.
func ParseTarget(s string) (Target, error) {
	switch {
	case strings.HasPrefix(s, "sm_"), strings.HasPrefix(s, "compute_"):
		return ParseCUDA(s)
	case strings.HasPrefix(s, "gfx"), strings.HasPrefix(s, SPIRV):
		return ParseAMD(s)
	}
	if t, err := ParseCPU(s); err == nil && t != (CPU{}) {
		return t, nil
	}
	return nil, fmt.Errorf("%.60q is no target such as sm_90a, compute_80, gfx942 or x86_64+avx2", s)
}
