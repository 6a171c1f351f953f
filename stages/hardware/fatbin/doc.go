// Package fatbin lists the device code inside CUDA libraries, and of modules by themselves.
// What runs on which device is said by package arch.
//
// A CUDA library is an ELF file with fat binaries in sections of its own. A fat
// binary is a row of regions, a region a row of entries, and an entry one kernel
// module compiled for one target:
//
//	section  │ region │ region │ 0 0 0 │ region │ …
//	region   │ magic version header-size payload-size │ entry │ entry │ …
//	entry    │ kind … sizes … SM … flags │ payload, padded │
//
// The one rule: files are hostile. Headers alone are read, each from its place, no
// length is believed before it has been compared with what surrounds it, and work and
// memory are bounded by the size of the file, not by what it claims.
//
// The outer header is public (fatbinary_section.h and fatbinary.h of the CUDA
// toolkit). The entry is not; its fields were read off libraries of CUDA 11.8 to 13
// and off the output of the toolkit's own fatbinary, and agree with what its
// cuobjdump lists.
package fatbin
