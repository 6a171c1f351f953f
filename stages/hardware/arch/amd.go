package arch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Feature is what a target or a device says of one of AMD's two switches.
type Feature uint8

// A target with Any runs whether the switch is on or off; a device with Any is one of
// which nobody said.
const (
	Any Feature = iota
	On
	Off
)

// AMD is what one code object for AMD's devices was compiled for: AMD's "target ID". The
// zero AMD is none.
//
// The version of a generic target is not kept: every processor of every generic target
// has been there since version 1, so that it decides nothing so far (LLVM AMDGPUUsage,
// "Generic Processor Versioning").
type AMD struct {
	// Processor is a processor, "gfx942", a generic one, "gfx9-4-generic", or [SPIRV].
	Processor string
	// SRAMECC says which setting of the memory's error correction the code was made for.
	SRAMECC Feature
	// XNACK says whether the code can be replayed after a page fault.
	XNACK Feature
}

// SPIRV is the processor of code that the driver compiles when it is loaded, for any of
// AMD's devices.
const SPIRV = "amdgcnspirv"

// String returns the target as the compiler writes it, features in the order of the
// alphabet: "gfx90a:sramecc+:xnack-".
func (t AMD) String() string {
	sign := [...]string{Any: "", On: "+", Off: "-"}
	s := t.Processor
	if t.SRAMECC != Any {
		s += ":sramecc" + sign[t.SRAMECC]
	}
	if t.XNACK != Any {
		s += ":xnack" + sign[t.XNACK]
	}
	return s
}

// A processor is its major version, then one digit each of minor version and stepping.
var processorForm = regexp.MustCompile(`^(?:gfx[1-9][0-9]?[0-9a-f]{2}|gfx[1-9][0-9]?(?:-[1-9][0-9]?)?-generic|` + SPIRV + `)$`)

// ParseAMD reads what String writes; the features may stand in any order, each once.
func ParseAMD(s string) (AMD, error) {
	processor, rest, more := strings.Cut(s, ":")
	if !processorForm.MatchString(processor) {
		return AMD{}, fmt.Errorf("%q is no target such as gfx942 or gfx90a:xnack-", s)
	}
	t := AMD{Processor: processor}
	for more {
		var word string
		word, rest, more = strings.Cut(rest, ":")
		feature := &t.XNACK
		if strings.HasPrefix(word, "sramecc") {
			feature = &t.SRAMECC
		}
		switch {
		case *feature != Any:
			return AMD{}, fmt.Errorf("%q names a feature twice", s)
		case word == "sramecc+" || word == "xnack+":
			*feature = On
		case word == "sramecc-" || word == "xnack-":
			*feature = Off
		default:
			return AMD{}, fmt.Errorf("%q has a feature that is none of sramecc+, sramecc-, xnack+ and xnack-", s)
		}
	}
	return t, nil
}

// Vendor returns [VendorAMD].
func (AMD) Vendor() Vendor { return VendorAMD }

// rank orders processors by their version, then the generic ones, then SPIR-V.
func (t AMD) rank() string {
	kind, name := 0, strings.TrimPrefix(t.Processor, "gfx")
	major, rest, generic := strings.Cut(name, "-")
	switch {
	case t.Processor == SPIRV:
		kind = 2
	case generic:
		kind = 1
	}
	return fmt.Sprintf("amd %d %4s-%s %d%d", kind, major, rest, t.SRAMECC, t.XNACK)
}

// members are the processors of the generic targets: LLVM AMDGPUUsage, "AMDGPU Generic
// Processors". gfx940 and gfx941 stood there before they were withdrawn, 1153 came later.
var members = map[string][]string{
	"gfx9-generic":    {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"},
	"gfx9-4-generic":  {"gfx940", "gfx941", "gfx942", "gfx950"},
	"gfx10-1-generic": {"gfx1010", "gfx1011", "gfx1012", "gfx1013"},
	"gfx10-3-generic": {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"},
	"gfx11-generic":   {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"},
	"gfx12-generic":   {"gfx1200", "gfx1201"},
	"gfx12-5-generic": {"gfx1250", "gfx1251"},
}

// retries are the processors that the driver starts with xnack on, unless told otherwise:
// those of the ninth generation that amdgpu_gmc_noretry_set in Linux does not name (its
// versions 9.1.0, 9.2.1, 9.2.2 and 9.3.0).
var retries = []string{"gfx902", "gfx904", "gfx909", "gfx90c"}

// On returns how the target reaches the device.
//
//   - Code for a processor runs on that processor alone, there is no order among them:
//     LLVM AMDGPUUsage, "Processors", and the same comparisons as below.
//   - Code for a generic target runs on its members: the same, "AMDGPU Generic Processors".
//   - SPIR-V is compiled when it is loaded, on any device: Clang, "HIP Support", "SPIR-V
//     Support on HIPAMD ToolChain"; HIP's runtime adds it to what each device takes.
//   - Code that names a feature is loaded only where the process has that setting, code
//     that does not name it on both: LLVM AMDGPUUsage, "Target Features"; Clang's bundler
//     (isCompatibleTargetID), ROCr (Isa::IsCompatible) and HIP's runtime
//     (isCodeObjectCompatibleWithDevice) compare so.
//
// Of a device whose xnack nobody stated, the driver's default is taken. It is off, so
// that code with xnack+ does not run: amdgpu_gmc_noretry_set and kfd_process_xnack_mode
// in Linux. HSA_XNACK=1 turns it on for a process where the processor can choose, which
// nobody can see from outside: whoever sets it names the device as "gfx90a:xnack+". Four
// old processors start with it on, and their older drivers did not: there either is let
// pass. So is either setting of sramecc on a device where it was not stated: the firmware
// sets it, and no name tells.
func (t AMD) On(d Device) Reach {
	switch {
	case t.Processor == "" || d.gfx.Processor == "" || !t.SRAMECC.fits(d.gfx.SRAMECC) || !t.XNACK.fits(d.xnack()):
		return None
	case t.Processor == d.gfx.Processor:
		return Native
	case slices.Contains(members[t.Processor], d.gfx.Processor):
		return Compatible
	case t.Processor == SPIRV:
		return ByPTX
	}
	return None
}

// NeedsXNACK reports whether the target runs on the device once xnack is on, by
// HSA_XNACK=1, and not before.
func (t AMD) NeedsXNACK(d Device) bool {
	on := d
	on.gfx.XNACK = On
	return t.On(d) == None && t.On(on) != None
}

// fits reports whether code made for the setting runs with the device's.
func (f Feature) fits(device Feature) bool { return f == Any || device == Any || f == device }

// xnack is the setting that the device has, or has by default.
func (d Device) xnack() Feature {
	if d.gfx.XNACK == Any && !slices.Contains(retries, d.gfx.Processor) {
		return Off
	}
	return d.gfx.XNACK
}

var gfxInText = regexp.MustCompile(`(?i)\bgfx[^\s,;()\[\]"']*`)

// amdDevice finds AMD's processor in a text, or returns [ErrNoDevice].
func amdDevice(s string) (Device, error) {
	var d Device
	for _, word := range gfxInText.FindAllString(s, -1) {
		t, err := ParseAMD(strings.ToLower(word))
		switch {
		case err != nil:
			return Device{}, errors.New("no processor of AMD such as gfx942 or gfx90a:xnack-")
		case strings.HasSuffix(t.Processor, "-generic"):
			return Device{}, fmt.Errorf("a target for many processors, %s: name the device's own", t.Processor)
		case d.gfx.Processor != "" && d.gfx != t:
			return Device{}, fmt.Errorf("two architectures, %s and %s: name one", d, t)
		}
		d.gfx = t
	}
	if d.gfx.Processor == "" {
		return Device{}, ErrNoDevice
	}
	return d, nil
}
