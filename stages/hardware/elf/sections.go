// Package elf finds the sections of an ELF file by name, and keeps of a file that comes as
// a stream what is needed to do so.
//
// The one rule: files are hostile. No length is believed before it has been compared with
// the file, and memory does not grow with what a file claims.
package elf

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The section headers are read here and not by debug/elf.NewFile: that one loads the
// table of names whole, decompresses it if told to, and is documented as not made for
// hostile files.

// ErrNotELF says that a file is no ELF file at all.
var ErrNotELF = errors.New("not an ELF file")

const (
	ehdrSize, shdrSize = 64, 64  // of a 64-bit ELF
	maxSections        = 1 << 16 // an ordinary library has 40
	maxName            = 32      // the longest name that is looked for
)

// Span is a part of the file.
type Span struct{ Off, End int64 }

// Section is one that was looked for and has bytes in the file.
type Section struct {
	Name string
	Span
}

// Sections returns the sections with one of the names, of at most 32 bytes each, in the
// order of the file's table. Accelerators have 64-bit little-endian hosts only: an ELF file
// of any other kind has none. It returns [ErrNotELF] for a file that is none.
func Sections(r io.ReaderAt, size int64, names ...string) ([]Section, error) {
	var h [ehdrSize]byte
	switch n, err := r.ReadAt(h[:], 0); {
	case n < 4 && (err == nil || errors.Is(err, io.EOF)), n >= 4 && string(h[:4]) != elf.ELFMAG:
		return nil, ErrNotELF
	case n > elf.EI_DATA && !readable(h[:]):
		return nil, nil
	case n < len(h):
		return nil, fmt.Errorf("the ELF header is cut short: %w", OrEOF(err))
	}
	if binary.LittleEndian.Uint64(h[0x28:]) == 0 {
		return nil, nil // no sections: stripped to what the loader needs
	}
	t := table{r: r, size: size}
	if err := t.open(h[:]); err != nil {
		return nil, err
	}
	return t.named(names)
}

// readable reports whether a file's header is that of a 64-bit little-endian one.
func readable(h []byte) bool {
	return elf.Class(h[elf.EI_CLASS]) == elf.ELFCLASS64 && elf.Data(h[elf.EI_DATA]) == elf.ELFDATA2LSB
}

// table is the section header table of a file.
type table struct {
	r             io.ReaderAt
	size          int64
	headers       Span
	count, strndx uint64 // of headers, and which of them is that of the names
}

// first returns where the table begins: with its first header.
func (t *table) first(h []byte) (Span, error) {
	if n := binary.LittleEndian.Uint16(h[0x3a:]); n != shdrSize {
		return Span{}, fmt.Errorf("section headers of %d bytes, want %d", n, shdrSize)
	}
	first, err := t.within(binary.LittleEndian.Uint64(h[0x28:]), shdrSize)
	if err != nil {
		return Span{}, fmt.Errorf("the section headers lie outside the file: %w", err)
	}
	return first, nil
}

// open finds the table from the header of the file.
func (t *table) open(h []byte) error {
	first, err := t.first(h)
	if err != nil {
		return err
	}
	t.count, t.strndx = uint64(binary.LittleEndian.Uint16(h[0x3c:])), uint64(binary.LittleEndian.Uint16(h[0x3e:]))
	// Counts that do not fit 16 bits are kept in the first section header.
	if t.count == 0 || t.strndx == uint64(elf.SHN_XINDEX) {
		zero, err := t.header(first, 0)
		if err != nil {
			return err
		}
		if t.count == 0 {
			t.count = zero.Size
		}
		if t.strndx == uint64(elf.SHN_XINDEX) {
			t.strndx = uint64(zero.Link)
		}
	}
	if t.count > maxSections {
		return fmt.Errorf("%d sections, at most %d are read", t.count, maxSections)
	}
	if t.headers, err = t.within(uint64(first.Off), t.count*shdrSize); err != nil {
		return fmt.Errorf("the %d section headers end past the file: %w", t.count, err)
	}
	return nil
}

// names returns where the names of the sections lie.
func (t *table) names() (Span, error) {
	if t.strndx >= t.count {
		return Span{}, fmt.Errorf("the names are in section %d of %d", t.strndx, t.count)
	}
	str, err := t.header(t.headers, t.strndx)
	if err != nil {
		return Span{}, err
	}
	text, err := t.within(str.Off, str.Size)
	if err != nil {
		return Span{}, fmt.Errorf("the section names end past the file: %w", err)
	}
	return text, nil
}

// within returns the part of n bytes at off, or an error when the file ends before.
func (t *table) within(off, n uint64) (Span, error) {
	if off > uint64(t.size) || n > uint64(t.size)-off {
		return Span{}, fmt.Errorf("%d bytes at %d of a file of %d: %w", n, off, t.size, io.ErrUnexpectedEOF)
	}
	return Span{int64(off), int64(off + n)}, nil
}

func (t *table) header(headers Span, i uint64) (elf.Section64, error) {
	var raw [shdrSize]byte
	if _, err := t.r.ReadAt(raw[:], headers.Off+int64(i)*shdrSize); err != nil {
		return elf.Section64{}, fmt.Errorf("read section header %d: %w", i, err)
	}
	le := binary.LittleEndian
	return elf.Section64{
		Name: le.Uint32(raw[0:]), Type: le.Uint32(raw[4:]), Flags: le.Uint64(raw[8:]), Addr: le.Uint64(raw[16:]),
		Off: le.Uint64(raw[24:]), Size: le.Uint64(raw[32:]), Link: le.Uint32(raw[40:]), Info: le.Uint32(raw[44:]),
		Addralign: le.Uint64(raw[48:]), Entsize: le.Uint64(raw[56:]),
	}, nil
}

// named returns the sections with one of the names that have bytes in the file.
func (t *table) named(names []string) ([]Section, error) {
	text, err := t.names()
	if err != nil {
		return nil, err
	}
	var out []Section
	for i := range t.count {
		h, err := t.header(t.headers, i)
		if err != nil {
			return nil, err
		}
		// A file of debug information keeps the headers of sections that it has not.
		if h.Type == uint32(elf.SHT_NOBITS) || h.Type == uint32(elf.SHT_NULL) {
			continue
		}
		name, err := t.name(text, h.Name, names)
		if err != nil {
			return nil, fmt.Errorf("read the name of section %d: %w", i, err)
		}
		if name == "" {
			continue
		}
		at, err := t.within(h.Off, h.Size)
		if err != nil {
			return nil, fmt.Errorf("section %s ends past the file: %w", name, err)
		}
		if elf.SectionFlag(h.Flags)&elf.SHF_COMPRESSED != 0 {
			return nil, fmt.Errorf("section %s is compressed, which no loader could use", name)
		}
		out = append(out, Section{name, at})
	}
	return out, nil
}

// name returns which of the names the section has, "" for none of them.
func (t *table) name(text Span, at uint32, names []string) (string, error) {
	var raw [maxName + 1]byte
	off := text.Off + int64(at)
	if off >= text.End {
		return "", nil
	}
	got := raw[:min(int64(len(raw)), text.End-off)]
	if _, err := t.r.ReadAt(got, off); err != nil && !errors.Is(err, io.EOF) {
		return "", err // a section whose name is not known could be one that was asked for
	}
	for _, n := range names {
		if len(got) > len(n) && string(got[:len(n)]) == n && got[len(n)] == 0 {
			return n, nil
		}
	}
	return "", nil
}

// OrEOF is err, or what a short read without an error means.
func OrEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
