// Package fatbintest makes small libraries with fat binaries for tests: sound ones,
// and by changing a field ones that are not.
package fatbintest

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"infbench/stages/hardware/arch"
)

// Names of the sections that hold fat binaries.
const (
	Loadable    = ".nv_fatbin"
	Relocatable = "__nv_relfatbin"
)

// Entry is one entry of a fat binary.
type Entry struct {
	Kind    uint16 // 1 PTX, 2 machine code
	SM      uint32
	Flags   uint64
	Header  int // bytes of the header, 0 means 64
	Payload []byte
}

// Of returns an entry for the target with a short payload.
func Of(t arch.CUDA) Entry {
	e := Entry{Kind: 2, SM: uint32(t.SM), Flags: 0x11, Payload: make([]byte, 24)}
	if t.PTX {
		e.Kind, e.Header = 1, 80
	}
	switch t.Variant {
	case arch.ArchSpecific:
		e.Flags |= 0x100000
	case arch.Family:
		e.Flags |= 0x200000
	}
	return e
}

// Region returns the entries as one fat binary.
func Region(entries ...Entry) []byte {
	le := binary.LittleEndian
	var body []byte
	for _, e := range entries {
		h := make([]byte, max(e.Header, 64))
		le.PutUint16(h[0:], e.Kind)
		le.PutUint16(h[2:], 0x101)
		le.PutUint32(h[4:], uint32(len(h)))
		le.PutUint64(h[8:], uint64(len(e.Payload)))
		le.PutUint32(h[28:], e.SM)
		le.PutUint64(h[40:], e.Flags)
		body = append(append(body, h...), e.Payload...)
	}
	h := make([]byte, 16)
	le.PutUint32(h[0:], 0xBA55ED50)
	le.PutUint16(h[4:], 1)
	le.PutUint16(h[6:], 16)
	le.PutUint64(h[8:], uint64(len(body)))
	return append(h, body...)
}

// Section is a named part of an ELF file.
type Section struct {
	Name string
	Data []byte
}

// ELF returns a shared library of 64-bit x86 with the sections: the header, the data,
// the names, the section headers.
func ELF(sections ...Section) []byte {
	le := binary.LittleEndian
	names := "\x00.shstrtab\x00"
	file := make([]byte, 64)
	headers := make([]byte, 64) // section 0 is empty
	add := func(name int, kind elf.SectionType, data []byte) {
		h := make([]byte, 64)
		le.PutUint32(h[0:], uint32(name))
		le.PutUint32(h[4:], uint32(kind))
		le.PutUint64(h[24:], uint64(len(file)))
		le.PutUint64(h[32:], uint64(len(data)))
		headers = append(headers, h...)
		file = append(file, data...)
	}
	for _, s := range sections {
		add(len(names), elf.SHT_PROGBITS, s.Data)
		names += s.Name + "\x00"
	}
	add(1, elf.SHT_STRTAB, []byte(names))
	copy(file, elf.ELFMAG)
	file[elf.EI_CLASS], file[elf.EI_DATA], file[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	le.PutUint16(file[0x10:], uint16(elf.ET_DYN))
	le.PutUint16(file[0x12:], uint16(elf.EM_X86_64))
	le.PutUint32(file[0x14:], 1)
	le.PutUint64(file[0x28:], uint64(len(file)))
	le.PutUint16(file[0x34:], 64)
	le.PutUint16(file[0x3a:], 64)
	le.PutUint16(file[0x3c:], uint16(len(headers)/64))
	le.PutUint16(file[0x3e:], uint16(len(headers)/64-1))
	return append(file, headers...)
}

// Library returns a library described in text: one target a line, an empty line before
// the next region, and the line "relocatable:" before those that are so. A text without
// a target gives a library without device code.
func Library(text string) ([]byte, error) {
	regions := map[string][]byte{}
	name := Loadable
	var entries []Entry
	flush := func() {
		if len(entries) > 0 {
			regions[name] = append(regions[name], Region(entries...)...)
		}
		entries = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch line = strings.TrimSpace(line); line {
		case "":
			flush()
		case "relocatable:":
			flush()
			name = Relocatable
		default:
			t, err := arch.ParseCUDA(line)
			if err != nil {
				return nil, fmt.Errorf("library described in text: %w", err)
			}
			entries = append(entries, Of(t))
		}
	}
	flush()
	sections := []Section{{".text", []byte{0xc3}}}
	for _, n := range []string{Relocatable, Loadable} {
		if d := regions[n]; len(d) > 0 {
			sections = append(sections, Section{n, d})
		}
	}
	return ELF(sections...), nil
}
