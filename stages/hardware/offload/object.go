package offload

import (
	delf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"infbench/stages/hardware/arch"
)

const (
	elfHeader = 64
	osabiHSA  = 64 // ELFOSABI_AMDGPU_HSA: what ROCm loads
	emAMDGPU  = 224
)

// isObject reports whether an ELF file for AMD's processors begins here.
func isObject(b []byte) bool {
	return len(b) >= 20 && string(b[:4]) == delf.ELFMAG && delf.Class(b[delf.EI_CLASS]) == delf.ELFCLASS64 &&
		delf.Data(b[delf.EI_DATA]) == delf.ELFDATA2LSB && binary.LittleEndian.Uint16(b[18:]) == emAMDGPU
}

// object returns what a code object was compiled for. It wants the 64 bytes of its ELF
// header.
func object(b []byte) (arch.AMD, error) {
	switch {
	case !isObject(b):
		return arch.AMD{}, errors.New("not an ELF file for AMD's devices")
	case len(b) < elfHeader:
		return arch.AMD{}, fmt.Errorf("the ELF header is cut short: %w", io.ErrUnexpectedEOF)
	case b[delf.EI_OSABI] != osabiHSA:
		return arch.AMD{}, fmt.Errorf("a code object for the system %d, want %d, which is ROCm", b[delf.EI_OSABI], osabiHSA)
	}
	// The version is one less than that of the code object's format, since its third:
	// AMDGPUUsage, "Header".
	version, flags := int(b[delf.EI_ABIVERSION])+2, binary.LittleEndian.Uint32(b[48:])
	name := processors[byte(flags)]
	switch {
	case version < 3 || version > 6:
		return arch.AMD{}, fmt.Errorf("a code object of version %d, want 3 to 6", version)
	case name == "":
		return arch.AMD{}, fmt.Errorf("compiled for processor %#02x, which is not known here", byte(flags))
	case strings.HasSuffix(name, "-generic") && flags>>24 == 0:
		return arch.AMD{}, fmt.Errorf("compiled for %s, without its version", name)
	}
	t := arch.AMD{Processor: name}
	switch {
	case version == 3:
		// One bit each, which says nothing of a processor without the feature. Code for
		// either setting has it set and is taken for on: AMDGPUUsage, "Code Object V2 to V3
		// Target ID"; so HIP's runtime reads it too (getTripleTargetIDFromCodeObject).
		t.XNACK = switched(slices.Contains(withXNACK, name), flags&0x100 != 0)
		t.SRAMECC = switched(slices.Contains(withSRAMECC, name), flags&0x200 != 0)
	case strings.HasPrefix(name, "gfx125"), strings.HasPrefix(name, "gfx12-5"):
		// Always on, so that it is no part of the target: ROCr leaves it off.
	default:
		// Two bits each: without the feature, either, off, on.
		t.XNACK, t.SRAMECC = settings[flags>>8&3], settings[flags>>10&3]
	}
	return t, nil
}

var settings = [4]arch.Feature{arch.Any, arch.Any, arch.Off, arch.On}

func switched(has, on bool) arch.Feature {
	switch {
	case !has:
		return arch.Any
	case on:
		return arch.On
	}
	return arch.Off
}

// processors are the values of EF_AMDGPU_MACH: LLVM's BinaryFormat/ELF.h, AMDGPU_MACH_LIST.
// Values of before are for graphics that ROCm never ran on.
var processors = map[byte]string{
	0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
	0x28: "gfx801", 0x29: "gfx802", 0x2a: "gfx803", 0x2b: "gfx810", 0x2c: "gfx900", 0x2d: "gfx902", 0x2e: "gfx904", 0x2f: "gfx906",
	0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x36: "gfx1030", 0x37: "gfx1031",
	0x38: "gfx1032", 0x39: "gfx1033", 0x3a: "gfx602", 0x3b: "gfx705", 0x3c: "gfx805", 0x3d: "gfx1035", 0x3e: "gfx1034", 0x3f: "gfx90a",
	0x40: "gfx940", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102",
	0x48: "gfx1200", 0x49: "gfx1250", 0x4a: "gfx1151", 0x4b: "gfx941", 0x4c: "gfx942", 0x4e: "gfx1201", 0x4f: "gfx950",
	0x50: "gfx1310", 0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic", 0x55: "gfx1152",
	0x58: "gfx1153", 0x59: "gfx12-generic", 0x5a: "gfx1251", 0x5b: "gfx12-5-generic", 0x5c: "gfx1172", 0x5d: "gfx1170", 0x5e: "gfx1171",
	0x5f: "gfx9-4-generic", 0x62: "gfx11-7-generic", 0x63: "gfx13-generic",
}

// Processors with a feature, as far as there was a third version of the format for them:
// AMDGPUUsage, "Processors", "Target Features Supported".
var (
	withXNACK = []string{
		"gfx801", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c", "gfx940", "gfx941", "gfx942", "gfx950",
		"gfx1010", "gfx1011", "gfx1012", "gfx1013",
	}
	withSRAMECC = []string{"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"}
)
