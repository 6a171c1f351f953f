package offload

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
)

// Library is the device code of one file. The zero Library has none.
type Library struct {
	// Targets lists what the code was compiled for, sorted, each once.
	Targets []arch.AMD
	// Bundles counts the bundles, Compressed those of them that are.
	Bundles, Compressed int
	// Entries counts the code objects behind Targets.
	Entries int
	// Other counts entries for targets that are not AMD's or are not known.
	Other int
	// Elsewhere says that the library's code was taken out of it and lies in .kpack
	// archives beside it: it has code, and none that could be read here.
	Elsewhere bool
}

// Names of sections: bundles, and the mark of a library whose code was taken out. What
// .hipFatBinSegment holds are pointers to the bundles.
const (
	fatbin = ".hip_fatbin"
	kpack  = ".rocm_kpack_ref"
)

// ReadAt lists the device code of a file of the given size: a library, a bundle or a code
// object. A library without any gives the zero Library. It returns [elf.ErrNotELF] for a
// file that is none of the three.
func ReadAt(r io.ReaderAt, size int64) (Library, error) {
	size = max(0, size)
	w := walker{r: r}
	lib, err := w.file(size)
	if err != nil {
		return Library{}, err
	}
	return lib, nil
}

const (
	maxBundles = 1 << 16 // a bundle is a source file; the largest libraries have some thousands
	maxLines   = 1 << 20 // of all tables: compressed ones could repeat themselves for nothing
	page       = 4096    // what the bundles of a section are aligned to
)

// walker goes through one file.
type walker struct {
	r     io.ReaderAt
	dec   decoder
	lib   Library
	lines int
	seen  map[arch.AMD]bool
}

func (w *walker) file(size int64) (Library, error) {
	var begin [max(len(Magic), elfHeader)]byte
	n, err := readUpTo(w.r, begin[:min(int64(len(begin)), size)], 0)
	if err != nil {
		return Library{}, err
	}
	switch head := begin[:n]; {
	case isBundle(head):
		err = w.section(elf.Span{End: size})
	case isObject(head):
		err = w.object(head, size)
	default:
		err = w.library(size)
	}
	for t := range w.seen {
		w.lib.Targets = append(w.lib.Targets, t)
	}
	w.lib.Targets = arch.Unique(w.lib.Targets)
	return w.lib, err
}

// object reads a code object of which the header is at hand.
func (w *walker) object(header []byte, size int64) error {
	t, err := object(header)
	if err != nil {
		return err
	}
	if _, err := elf.Sections(w.r, size); err != nil { // cut short?
		return err
	}
	w.add(t)
	return nil
}

func (w *walker) add(ts ...arch.AMD) {
	if w.seen == nil {
		w.seen = map[arch.AMD]bool{}
	}
	for _, t := range ts {
		w.seen[t] = true
	}
	w.lib.Entries += len(ts)
}

// library reads the sections of a host's ELF file.
func (w *walker) library(size int64) error {
	found, err := elf.Sections(w.r, size, fatbin, kpack)
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b elf.Section) int { return cmp.Compare(a.Off, b.Off) })
	end := int64(0)
	for _, s := range found {
		// Sections that share bytes would let a small file claim endless entries.
		if s.Off < end {
			return fmt.Errorf("section %s overlaps the one before it at %d", s.Name, s.Off)
		}
		end = s.End
		if s.Name == kpack {
			w.lib.Elsewhere = true
		} else if err := w.section(s.Span); err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
	}
	return nil
}

// section walks the bundles of a section and the zeros between them.
func (w *walker) section(in elf.Span) error {
	at := in.Off
	for {
		start, err := w.skipZeros(elf.Span{Off: at, End: in.End})
		if err != nil || start == in.End {
			return err
		}
		if w.lib.Bundles++; w.lib.Bundles > maxBundles {
			return fmt.Errorf("more than %d bundles", maxBundles)
		}
		h, err := w.dec.bundle(w.r, elf.Span{Off: start, End: in.End})
		if err != nil {
			return fmt.Errorf("bundle at %d: %w", start-in.Off, err)
		}
		if w.lines += h.lines; w.lines > maxLines {
			return fmt.Errorf("more than %d entries", maxLines)
		}
		w.add(h.targets...)
		w.lib.Other += h.other
		if h.compressed {
			w.lib.Compressed++
		}
		if at = start + h.length; h.length == 0 {
			if at, err = w.next(elf.Span{Off: start, End: in.End}); err != nil {
				return err
			}
		}
	}
}

// next returns where the bundle after the one at the beginning of in starts, for those
// that do not tell their length: on a page of its own, as the linker puts them.
func (w *walker) next(in elf.Span) (int64, error) {
	for at := in.Off + page; at < in.End; at += page {
		var begin [len(Magic)]byte
		n, err := readUpTo(w.r, begin[:min(int64(len(begin)), in.End-at)], at)
		if err != nil {
			return 0, err
		}
		if isBundle(begin[:n]) {
			return at, nil
		}
	}
	return in.End, nil
}

// skipZeros returns the place of the first byte that is not zero, at the latest the end.
func (w *walker) skipZeros(in elf.Span) (int64, error) {
	var raw [page]byte
	for at := in.Off; at < in.End; {
		got := raw[:min(int64(len(raw)), in.End-at)]
		n, err := readUpTo(w.r, got, at)
		switch {
		case err != nil:
			return 0, err
		case n < len(got):
			return 0, fmt.Errorf("read %d bytes at %d: %w", len(got), at, io.ErrUnexpectedEOF)
		}
		if i := bytes.IndexFunc(got, func(r rune) bool { return r != 0 }); i >= 0 {
			return at + int64(i), nil
		}
		at += int64(n)
	}
	return in.End, nil
}
