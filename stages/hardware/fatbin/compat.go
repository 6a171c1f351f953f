package fatbin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Device is a CUDA device's architecture. The zero Device is none: nothing runs on it.
type Device struct{ sm int }

// String returns "sm_90", or "no device".
func (d Device) String() string {
	if d.sm == 0 {
		return "no device"
	}
	return fmt.Sprintf("sm_%d", d.sm)
}

// ErrNoDevice says that a text names no CUDA architecture.
var ErrNoDevice = errors.New("no CUDA architecture such as sm_90 or 9.0")

var (
	smInText = regexp.MustCompile(`(?i)\bsm_?([1-9][0-9]{1,2})[af]?\b`)
	// A decimal counts only when it is the whole text: "CUDA 12.4" is no device.
	wholeDecimal = regexp.MustCompile(`^(?:compute capability |cc )?([1-9][0-9]?)\.([0-9])$`)
	times        = regexp.MustCompile(`\s*[x×*]\s*[0-9]+$`)
)

// ParseDevice reads a device as people write it: "sm_90", "sm_90 x2", "9.0", "NVIDIA
// H100 (sm_90)". It returns [ErrNoDevice] for any other text and an error for one that
// names two architectures.
func ParseDevice(s string) (Device, error) {
	s = times.ReplaceAllString(strings.TrimSpace(s), "")
	if m := wholeDecimal.FindStringSubmatch(strings.ToLower(s)); m != nil {
		sm, _ := strconv.Atoi(m[1] + m[2]) // at most three digits
		return Device{sm}, nil
	}
	var d Device
	for _, m := range smInText.FindAllStringSubmatch(s, -1) {
		sm, _ := strconv.Atoi(m[1])
		if d.sm != 0 && d.sm != sm {
			return Device{}, fmt.Errorf("two architectures, %s and sm_%d: name one", d, sm)
		}
		d.sm = sm
	}
	if d.sm == 0 {
		return Device{}, ErrNoDevice
	}
	return d, nil
}

// Reach says how code gets onto a device; the larger, the better.
type Reach uint8

// The ways onto a device.
const (
	None      Reach = iota // it cannot run there
	ByLink                 // the driver compiles and links relocatable code when it is loaded
	ByPTX                  // the driver compiles it when it is first loaded
	SameMajor              // machine code for an earlier device of the same major
	Native                 // machine code for this device
)

var reachNames = [...]string{"none", "by linking when loaded", "through PTX", "same major", "native"}

// String returns the reach in words.
func (r Reach) String() string { return reachNames[r] }

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
func (t Target) On(d Device) Reach {
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
	return SameMajor
}

// best returns how the best of the targets reaches the device.
func best(ts []Target, d Device) Reach {
	r := None
	for _, t := range ts {
		r = max(r, t.On(d))
	}
	return r
}

// On returns how the library reaches the device: as the best of its targets does.
//
// Where none does, relocatable code may: "If the cubin does not match the target
// architecture at load time, the driver re-invokes the device linker […] If PTX or
// cubin for the target architecture is not found for an object, then the link will
// fail" (CUDA Compiler Driver NVCC, "JIT Linking Support"). It is told apart from
// PTX: it is documented, and was not tried on a device for this package.
func (l Library) On(d Device) Reach {
	if r := best(l.Targets, d); r != None || len(l.objects) == 0 {
		return r
	}
	for _, o := range l.objects {
		if best(o, d) == None {
			return None
		}
	}
	return ByLink
}
