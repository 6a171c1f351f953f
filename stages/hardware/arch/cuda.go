package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Variants of a target: plain code runs on later devices too, the other two trade
// that away for instructions that those lack.
const (
	Plain        = ""
	ArchSpecific = "a" // such as sm_90a: that architecture alone
	Family       = "f" // such as sm_100f: its family
)

// CUDA is what one module for NVIDIA's devices was compiled for. The zero CUDA is none.
type CUDA struct {
	// SM is the architecture: ten times the major compute capability plus the minor,
	// 90 for 9.0 and 121 for 12.1.
	SM int
	// Variant is [Plain], [ArchSpecific] or [Family].
	Variant string
	// PTX says that it is code for a virtual architecture, which the driver compiles
	// when it is loaded; otherwise it is machine code.
	PTX bool
}

// String returns the target as the compiler names it: "sm_90a", "compute_80 (PTX)".
func (t CUDA) String() string {
	if t.PTX {
		return fmt.Sprintf("compute_%d%s (PTX)", t.SM, t.Variant)
	}
	return fmt.Sprintf("sm_%d%s", t.SM, t.Variant)
}

var targetForm = regexp.MustCompile(`^(sm|compute)_([1-9][0-9]{1,2})([af]?)$`)

// ParseCUDA reads what String writes; " (PTX)" may be left off.
func ParseCUDA(s string) (CUDA, error) {
	m := targetForm.FindStringSubmatch(strings.TrimSuffix(s, " (PTX)"))
	if m == nil || strings.HasSuffix(s, " (PTX)") && m[1] == "sm" {
		return CUDA{}, fmt.Errorf("%q is no target such as sm_90a or compute_80", s)
	}
	sm, _ := strconv.Atoi(m[2]) // at most three digits
	return CUDA{SM: sm, Variant: m[3], PTX: m[1] == "compute"}, nil
}

// Vendor returns [VendorNVIDIA].
func (CUDA) Vendor() Vendor { return VendorNVIDIA }

// rank orders machine code before PTX, then by architecture and variant.
func (t CUDA) rank() string {
	kind := 0
	if t.PTX {
		kind = 1
	}
	return fmt.Sprintf("cuda %d %03d%s", kind, t.SM, t.Variant)
}

// tegra are the architectures of Jetson and its like. Binary compatibility holds for
// desktop and data-centre devices only, neither among Tegra devices nor between them
// and the others: CUDA C++ Programming Guide, "Binary Compatibility", note.
var tegra = []int{53, 62, 72, 87, 101}

// On returns how the target reaches the device.
//
//   - Machine code runs on the same major with an equal or higher minor: CUDA C++
//     Programming Guide, "Binary Compatibility".
//   - PTX runs on any equal or higher architecture: the same, "PTX Compatibility".
//   - Architecture-specific code, machine code or PTX, runs on exactly that
//     architecture: the same, "Architecture-Specific Features"; ptxas --help says it too
//     ("PTX with .target sm_XYa can only be compiled to GPU target sm_XYa").
//   - Family-specific code, machine code or PTX, runs on its own architecture and on
//     later ones of its family: the same, "Family-Specific Features". A family is a
//     major so far; ptxas of CUDA 13 takes sm_100f to 10.0, 10.3 and 10.7, sm_103f
//     not to 10.0, sm_110f to 11.0 alone and sm_120f to 12.0 and 12.1.
func (t CUDA) On(d Device) Reach {
	if d.sm == 0 {
		return None
	}
	same := t.SM == d.sm
	major := t.SM/10 == d.sm/10 && t.SM <= d.sm
	apart := !same && (slices.Contains(tegra, t.SM) || slices.Contains(tegra, d.sm))
	var runs bool
	switch t.Variant {
	case ArchSpecific:
		runs = same
	case Family:
		runs = major && !apart
	default:
		runs = t.PTX && t.SM <= d.sm || major && !apart
	}
	switch {
	case t.SM == 0 || !runs:
		return None
	case t.PTX:
		return ByPTX
	case same:
		return Native
	}
	return Compatible
}
