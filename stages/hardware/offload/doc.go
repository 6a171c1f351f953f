// Package offload lists the code for AMD's devices inside libraries and files of kernels,
// and says for which devices it was compiled.
//
// A ROCm library is an ELF file with bundles in a section of its own. A bundle is a table
// of entries and what they name; an entry is one code object compiled for one target, or
// the host's part, which is empty. Since ROCm 6 a bundle is compressed as a whole:
//
//	section     │ bundle │ 0 0 0 │ bundle, at the next page │ …
//	bundle      │ magic count │ offset size length ID │ … │ code object │ …
//	compressed  │ "CCOB" version method sizes hash │ a bundle in zstd or zlib │
//
// The kernels of rocBLAS, hipBLASLt and their like are files of their own, .co and .hsaco:
// bundles again, or bare code objects, which are ELF files for AMD's processor. Libraries
// of newer ROCm may have been emptied, with their code beside them in .kpack archives.
//
// The one rule: files are hostile. Headers alone are read, no length is believed before it
// has been compared with what surrounds it, and of a compressed bundle no more is
// decompressed than its table: memory stays below a few MiB whatever a file claims.
//
// The layouts are LLVM's: OffloadBundler.cpp (BinaryFileHandler, CompressedOffloadBundle),
// "Clang Offload Bundler" in Clang's manual, and "ELF Code Object" in AMDGPUUsage.
package offload
