package kernels

import (
	"slices"

	"infbench/stages/hardware/arch"
)

// Library is the compiled code of one file.
type Library struct {
	// Path is where it lies in what was read, with slashes.
	Path string
	// Files counts the files behind it: a folder of kernel files counts as one library.
	Files int
	// Targets lists what can be loaded as it is, sorted, each once.
	Targets []arch.Target
	// Objects lists, for each relocatable object, what it was compiled for: code that has
	// still to go through the device linker.
	Objects [][]arch.Target
	// Needs lists the runtime libraries that it asks the loader for, such as "libcudart.so.12".
	Needs []string
}

// Holds reports whether there is compiled code in it.
func (l Library) Holds() bool { return len(l.Targets)+len(l.Objects) > 0 }

// Relocatable lists what the relocatable objects were compiled for, sorted, each once.
func (l Library) Relocatable() []arch.Target { return arch.Unique(slices.Concat(l.Objects...)) }

// String lists what the library can run on.
func (l Library) String() string {
	if !l.Holds() {
		return "no device code"
	}
	if len(l.Targets) > 0 || len(l.Objects) == 0 {
		return arch.Join(l.Targets)
	}
	return "relocatable: " + arch.Join(l.Relocatable())
}

// For reports whether any of the code is for devices of the vendor.
func (l Library) For(v arch.Vendor) bool {
	return slices.ContainsFunc(slices.Concat(l.Targets, l.Relocatable()), func(t arch.Target) bool { return t.Vendor() == v })
}

// onProcessor reports whether all of the code is for a processor.
func (l Library) onProcessor() bool {
	return l.Holds() && !l.For(arch.VendorNVIDIA) && !l.For(arch.VendorAMD)
}

// On returns how the library reaches the device: as the best of its targets does.
//
// Where none does, relocatable code may: "If the cubin does not match the target
// architecture at load time, the driver re-invokes the device linker […] If PTX or
// cubin for the target architecture is not found for an object, then the link will
// fail" (CUDA Compiler Driver NVCC, "JIT Linking Support"). It is told apart from
// PTX: it is documented, and was not tried on a device for this package.
func (l Library) On(d arch.Device) arch.Reach {
	if r := arch.Best(l.Targets, d); r != arch.None || len(l.Objects) == 0 {
		return r
	}
	for _, o := range l.Objects {
		if arch.Best(o, d) == arch.None {
			return arch.None
		}
	}
	return arch.ByLink
}
