package fatbin

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
)

// Library is the device code of one file. The zero Library has none.
type Library struct {
	// Targets lists what can be loaded as it is, sorted, each once.
	Targets []arch.CUDA
	// Relocatable lists what has still to go through the device linker, sorted, each
	// once. The result of that link is normally among Targets.
	Relocatable []arch.CUDA
	// Entries counts the entries behind both lists.
	Entries int
	// Other counts entries of other kinds, such as intermediate code for the link.
	Other int

	objects [][]arch.CUDA // one list for each relocatable object, equal lists once
}

// Section names: code that the runtime loads, and code that the device linker reads.
// They are those of fatbinary_section.h in the CUDA toolkit.
const (
	loadable = ".nv_fatbin"
	relocs   = "__nv_relfatbin"
)

// ReadAt lists the device code of a file of the given size. A file without any gives
// the zero Library.
func ReadAt(r io.ReaderAt, size int64) (Library, error) {
	found, err := elf.Sections(r, max(0, size), loadable, relocs)
	if err != nil {
		return Library{}, err
	}
	slices.SortStableFunc(found, func(a, b elf.Section) int { return cmp.Compare(a.Off, b.Off) })
	w := walker{r: r}
	end := int64(0)
	for _, s := range found {
		// Sections that share bytes would let a small file claim endless entries.
		if s.Off < end {
			return Library{}, fmt.Errorf("section %s overlaps the one before it at %d", s.Name, s.Off)
		}
		end = s.End
		if err := w.section(s); err != nil {
			return Library{}, fmt.Errorf("section %s: %w", s.Name, err)
		}
	}
	return w.library(), nil
}

const (
	magic        = 0xBA55ED50
	headerSize   = 16 // of a region
	entrySize    = 48 // of what is read of an entry's header; 64 and up are seen
	moduleHeader = 52 // of what is read of a payload
	kindPTX      = 1
	kindELF      = 2
	maxSM        = 999
	maxHeaders   = 1 << 20 // the largest library known holds 9,000
	maxDistinct  = 1 << 12 // different lists of targets of relocatable objects
)

// Flags of an entry. LZ4-like, its successor and zstd; then the variants, which have
// been here since CUDA 12.
const (
	compressed   = 0x1000 | 0x2000 | 0x8000
	archSpecific = 0x100000
	family       = 0x200000
)

// walker goes through the fat binaries of one file.
type walker struct {
	r       io.ReaderAt
	headers int
	lib     Library
	seen    [2]map[arch.CUDA]bool // of loadable and of relocatable code
	objects map[string][]arch.CUDA
}

func (w *walker) library() Library {
	list := func(m map[arch.CUDA]bool) []arch.CUDA {
		var ts []arch.CUDA
		for t := range m {
			ts = append(ts, t)
		}
		return arch.Unique(ts)
	}
	w.lib.Targets, w.lib.Relocatable = list(w.seen[0]), list(w.seen[1])
	for _, ts := range w.objects {
		w.lib.objects = append(w.lib.objects, ts)
	}
	return w.lib
}

// section walks the regions of a section and the zeros between them.
func (w *walker) section(s elf.Section) error {
	at := s.Off
	for {
		start, err := w.skipZeros(at, s.End)
		if err != nil || start == s.End {
			return err
		}
		if at, err = w.region(s.Name == relocs, elf.Span{Off: start, End: s.End}); err != nil {
			return fmt.Errorf("at %d: %w", start-s.Off, err)
		}
	}
}

// skipZeros returns the place of the next byte that is not zero, at the latest end.
func (w *walker) skipZeros(at, end int64) (int64, error) {
	var raw [512]byte
	for size := 8; at < end; size = len(raw) { // mostly there are none
		got := raw[:min(int64(size), end-at)]
		// What lies behind the first byte need not be readable: of a stream it was not kept.
		n, err := w.r.ReadAt(got, at)
		if i := bytes.IndexFunc(got[:n], func(r rune) bool { return r != 0 }); i >= 0 {
			return at + int64(i), nil
		}
		if n < len(got) {
			return 0, fmt.Errorf("read %d bytes at %d: %w", len(got), at, elf.OrEOF(err))
		}
		at += int64(len(got))
	}
	return end, nil
}

// region walks one region at the beginning of in and returns its end.
func (w *walker) region(relocatable bool, in elf.Span) (int64, error) {
	var h [headerSize]byte
	if in.End-in.Off < headerSize {
		return 0, fmt.Errorf("%d bytes, too few for a fat binary", in.End-in.Off)
	}
	if err := w.read(h[:], in.Off); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	if got := le.Uint32(h[:]); got != magic {
		return 0, fmt.Errorf("no fat binary: magic %#08x, want %#08x", got, magic)
	}
	if v := le.Uint16(h[4:]); v != 1 {
		return 0, fmt.Errorf("a fat binary of version %d, want 1", v)
	}
	body, err := inside(in, uint64(le.Uint16(h[6:])), headerSize, le.Uint64(h[8:]))
	if err != nil {
		return 0, fmt.Errorf("fat binary: %w", err)
	}
	if err := w.count(); err != nil {
		return 0, err
	}
	var object []arch.CUDA
	at := body.Off
	for at < body.End {
		var t arch.CUDA
		start := at
		if t, at, err = w.entry(elf.Span{Off: start, End: body.End}); err != nil {
			return 0, fmt.Errorf("entry at %d: %w", start-in.Off, err)
		}
		if t != (arch.CUDA{}) {
			object = append(object, t)
		}
	}
	if body.Off < body.End {
		err = w.keep(relocatable, object)
	}
	return body.End, err
}

// inside returns where the payload lies behind a header at the beginning of in. No sum
// is made before its parts are known to fit.
func inside(in elf.Span, header, least, payload uint64) (elf.Span, error) {
	room := uint64(in.End - in.Off)
	switch {
	case header < least:
		return elf.Span{}, fmt.Errorf("a header of %d bytes, want %d at least", header, least)
	case header > room:
		return elf.Span{}, fmt.Errorf("a header of %d bytes where %d are left", header, room)
	case payload > room-header:
		return elf.Span{}, fmt.Errorf("a payload of %d bytes where %d are left", payload, room-header)
	}
	off := in.Off + int64(header)
	return elf.Span{Off: off, End: off + int64(payload)}, nil
}

// entry reads the header of the entry at the beginning of in and returns its target,
// the zero Target for a kind that is not listed, and its end.
func (w *walker) entry(in elf.Span) (arch.CUDA, int64, error) {
	var h [entrySize]byte
	if in.End-in.Off < entrySize {
		return arch.CUDA{}, 0, fmt.Errorf("%d bytes, too few for a header", in.End-in.Off)
	}
	if err := w.read(h[:], in.Off); err != nil {
		return arch.CUDA{}, 0, err
	}
	le := binary.LittleEndian
	kind, sm, flags := le.Uint16(h[0:]), le.Uint32(h[28:]), le.Uint64(h[40:])
	payload, err := inside(in, uint64(le.Uint32(h[4:])), entrySize, le.Uint64(h[8:]))
	if err != nil {
		return arch.CUDA{}, 0, err
	}
	if err := w.count(); err != nil {
		return arch.CUDA{}, 0, err
	}
	if kind != kindPTX && kind != kindELF {
		w.lib.Other++
		return arch.CUDA{}, payload.End, nil
	}
	if sm < 10 || sm > maxSM {
		return arch.CUDA{}, 0, fmt.Errorf("compiled for architecture %d, which cannot be", sm)
	}
	w.lib.Entries++
	t := arch.CUDA{SM: int(sm), PTX: kind == kindPTX}
	switch {
	case flags&archSpecific != 0:
		t.Variant = arch.ArchSpecific
	case flags&family != 0:
		t.Variant = arch.Family
	case looksInside(kind, flags):
		t.Variant, err = w.cubinVariant(payload)
	}
	return t, payload.End, err
}

// looksInside reports whether the variant of an entry has to be looked for in its payload.
func looksInside(kind uint16, flags uint64) bool {
	return kind == kindELF && flags&(compressed|archSpecific|family) == 0
}

// cubinVariant looks for the variant in a module's own flags. CUDA 12 marks
// architecture-specific code there as well (EF_CUDA_ACCELERATORS), and cuobjdump goes
// by that mark; CUDA 13, with another ABI version, leaves the bit for other things.
func (w *walker) cubinVariant(at elf.Span) (string, error) {
	const abi, abiCUDA12, eFlags, accelerators = 8, 7, 48, 0x800
	var h [moduleHeader]byte
	if at.End-at.Off < int64(len(h)) {
		return arch.Plain, nil // not for us to judge: the entry itself is sound
	}
	if err := w.read(h[:], at.Off); err != nil {
		return arch.Plain, err
	}
	if string(h[:4]) == "\x7fELF" && h[abi] == abiCUDA12 && binary.LittleEndian.Uint32(h[eFlags:])&accelerators != 0 {
		return arch.ArchSpecific, nil
	}
	return arch.Plain, nil
}

// count bounds the number of headers.
func (w *walker) count() error {
	if w.headers++; w.headers > maxHeaders {
		return fmt.Errorf("more than %d headers", maxHeaders)
	}
	return nil
}

// keep notes the targets of one region.
func (w *walker) keep(relocatable bool, object []arch.CUDA) error {
	list := 0
	if relocatable {
		list = 1
	}
	if w.seen[list] == nil {
		w.seen[list] = map[arch.CUDA]bool{}
	}
	for _, t := range object {
		w.seen[list][t] = true
	}
	if !relocatable {
		return nil
	}
	if w.objects == nil {
		w.objects = map[string][]arch.CUDA{}
	}
	object = arch.Unique(object)
	w.objects[arch.Join(object)] = object
	if len(w.objects) > maxDistinct {
		return fmt.Errorf("more than %d different relocatable objects", maxDistinct)
	}
	return nil
}

// read fills b from the file.
func (w *walker) read(b []byte, at int64) error {
	if n, err := w.r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read %d bytes at %d: %w", len(b), at, elf.OrEOF(err))
	}
	return nil
}

// Objects lists, for each relocatable object, what it was compiled for, equal lists once.
func (l Library) Objects() [][]arch.CUDA { return l.objects }
