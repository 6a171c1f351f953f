// Package cpucode says what a library of machine code wants of the processor: its
// architecture, and the instruction sets that it says it needs.
//
// Two things say so: a note in an ELF file, which few libraries have, and the name of one of
// the variants in which llama.cpp is built. A library that says nothing is known by its
// architecture alone: it may need more, and asks the processor itself or dies.
package cpucode

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	debug "debug/elf"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
)

// Library is what one library wants. The zero Library wants nothing, being no code for a
// processor that is known.
type Library struct {
	// Target is the architecture and the instruction sets.
	Target arch.CPU
	// Stated says that the library or its name states what it needs, be it nothing beyond
	// the architecture. Otherwise it may need more than Target says.
	Stated bool
	// Family and Variant are set for one of several builds of the same code, of which the
	// engine loads the best that runs: "ggml-cpu" and "haswell".
	Family, Variant string
	// score is by what the engine chooses within a family: more is better.
	score int
}

// machines are the architectures of ELF files, as uname has them. Only those of servers: a
// library for another one is no code for them.
var machines = map[debug.Machine]string{
	debug.EM_X86_64: "x86_64", debug.EM_AARCH64: "aarch64", debug.EM_RISCV: "riscv64", debug.EM_PPC64: "ppc64le", debug.EM_S390: "s390x", debug.EM_LOONGARCH: "loongarch64",
}

// ReadNamed is [ReadAt] of a file with the base name, which may tell more than the file.
func ReadNamed(r io.ReaderAt, size int64, base string) (Library, error) {
	held, err := ReadAt(r, size)
	if err != nil {
		return Library{}, err
	}
	named, ok := ByName(base)
	if !ok {
		return held, nil
	}
	if a, b := held.Target.Architecture(), named.Target.Architecture(); a != "" && a != b {
		return Library{}, fmt.Errorf("its name says %s, and it holds code for %s", b, a)
	}
	return named, nil
}

// ReadAt reads an ELF file of the given size. It returns [elf.ErrNotELF] for a file that is
// none.
func ReadAt(r io.ReaderAt, size int64) (Library, error) {
	notes, err := elf.Sections(r, size, noteSection)
	if err != nil {
		return Library{}, err
	}
	var head [20]byte
	switch n, err := r.ReadAt(head[:], 0); {
	case n < len(head) && err != nil && !errors.Is(err, io.EOF):
		return Library{}, fmt.Errorf("read the ELF header: %w", err)
	case n < len(head), debug.Class(head[debug.EI_CLASS]) != debug.ELFCLASS64, debug.Data(head[debug.EI_DATA]) != debug.ELFDATA2LSB:
		return Library{}, nil
	}
	machine := machines[debug.Machine(binary.LittleEndian.Uint16(head[18:]))]
	if machine == "" {
		return Library{}, nil
	}
	out := Library{Target: arch.NewCPU(machine)}
	if machine != "x86_64" {
		return out, nil // the property is x86's
	}
	for _, n := range notes {
		level, err := levelOf(r, n)
		if err != nil {
			return Library{}, err
		}
		if level != "" {
			out = Library{Target: arch.NewCPU(machine, level), Stated: true}
		}
	}
	return out, nil
}

// On returns how the library reaches a device.
func (l Library) On(d arch.Device) arch.Reach { return l.Target.On(d) }

// Best returns that variant of a family which the engine loads on the device, ok being false
// where none runs there. The libraries are of one family and lie in one folder.
func Best(family []Library, d arch.Device) (best Library, ok bool) {
	for _, l := range family {
		if l.On(d) != arch.None && (!ok || cmp.Compare(l.score, best.score) > 0) {
			best, ok = l, true
		}
	}
	return best, ok
}
