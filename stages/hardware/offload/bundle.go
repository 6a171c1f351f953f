package offload

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
)

// How a bundle begins, and how a compressed one does.
const (
	Magic           = "__CLANG_OFFLOAD_BUNDLE__"
	CompressedMagic = "CCOB"
)

const (
	maxEntries = 1 << 11 // ROCm's own libraries have 30
	maxID      = 256     // bytes of an entry's ID; 60 are long
	maxTable   = len(Magic) + 8 + maxEntries*(3*8+maxID)
)

func isBundle(b []byte) bool {
	return bytes.HasPrefix(b, []byte(Magic)) || bytes.HasPrefix(b, []byte(CompressedMagic))
}

// head is what the beginning of one bundle says.
type head struct {
	targets    []arch.AMD // one for each code object
	other      int
	lines      int // of the table, the empty ones too
	compressed bool
	length     int64 // of the bundle, 0 where it is not told
}

// decoder reads bundles one after the other. The zero decoder is ready.
type decoder struct {
	inflater
	buffer *bufio.Reader
}

// bundle reads the table of the bundle at the beginning of in.
func (d *decoder) bundle(r io.ReaderAt, in elf.Span) (head, error) {
	var begin [len(Magic)]byte
	n, err := readUpTo(r, begin[:min(int64(len(begin)), in.End-in.Off)], in.Off)
	switch {
	case err != nil:
		return head{}, err
	case bytes.HasPrefix(begin[:n], []byte(CompressedMagic)):
		return d.compressed(r, in)
	case bytes.HasPrefix(begin[:n], []byte(Magic)):
		room := in.End - in.Off
		if d.buffer == nil {
			d.buffer = bufio.NewReaderSize(nil, page)
		}
		d.buffer.Reset(io.NewSectionReader(r, in.Off, room))
		return table(d.buffer, uint64(room))
	case bytes.HasPrefix([]byte(Magic), begin[:n]):
		return head{}, fmt.Errorf("cut short after %d bytes: %w", n, io.ErrUnexpectedEOF)
	}
	return head{}, fmt.Errorf("no bundle begins with %q", begin[:min(n, len(CompressedMagic))])
}

// compressed reads the table of a compressed bundle.
func (d *decoder) compressed(r io.ReaderAt, in elf.Span) (head, error) {
	c, err := readHeader(r, in)
	if err != nil {
		return head{}, err
	}
	plain, err := d.open(c.method, io.NewSectionReader(r, in.Off+c.header, c.payload))
	if err != nil {
		return head{}, fmt.Errorf("compressed: %w", err)
	}
	h, err := table(plain, c.size)
	if err != nil {
		return head{}, fmt.Errorf("compressed: %w", err)
	}
	h.compressed, h.length = true, c.length
	return h, nil
}

// entry is one line of the table.
type entry struct {
	id        string
	off, size uint64
}

// table reads the table of a bundle of size bytes, or of at most as many.
func table(r io.Reader, size uint64) (head, error) {
	size = min(size, math.MaxInt64)
	var fixed [len(Magic) + 8]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return head{}, fmt.Errorf("the table is cut short: %w", whole(err))
	}
	if string(fixed[:len(Magic)]) != Magic {
		return head{}, fmt.Errorf("begins with %q, want a bundle", fixed[:len(CompressedMagic)])
	}
	count := binary.LittleEndian.Uint64(fixed[len(Magic):])
	if count > maxEntries {
		return head{}, fmt.Errorf("%d entries, at most %d are read", count, maxEntries)
	}
	at := uint64(len(fixed))
	var entries []entry
	for i := range count {
		var line [3 * 8]byte
		if _, err := io.ReadFull(r, line[:]); err != nil {
			return head{}, fmt.Errorf("the table is cut short at entry %d of %d: %w", i+1, count, whole(err))
		}
		e := entry{off: binary.LittleEndian.Uint64(line[0:]), size: binary.LittleEndian.Uint64(line[8:])}
		n := binary.LittleEndian.Uint64(line[16:])
		if n == 0 || n > maxID {
			return head{}, fmt.Errorf("entry %d has an ID of %d bytes, want 1 to %d", i+1, n, maxID)
		}
		id := make([]byte, n)
		if _, err := io.ReadFull(r, id); err != nil {
			return head{}, fmt.Errorf("the table is cut short at entry %d of %d: %w", i+1, count, whole(err))
		}
		e.id = string(id)
		if e.size > 0 && (e.off > size || e.size > size-e.off) {
			return head{}, fmt.Errorf("entry %d, %q, has %d bytes at %d of a bundle of %d", i+1, e.id, e.size, e.off, size)
		}
		at += uint64(len(line)) + n
		entries = append(entries, e)
	}
	return judge(entries, at)
}

// judge sorts out the entries of a table that ends at end. No entry may lie inside the
// table or share a part of another, though two may be one.
func judge(entries []entry, end uint64) (head, error) {
	h := head{length: int64(end), lines: len(entries)}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.size == 0 }) // nothing to run: the host's, mostly
	for _, e := range entries {
		h.length = max(h.length, int64(e.off+e.size))
		if e.off < end {
			return head{}, fmt.Errorf("entry %q begins at %d, inside the table of %d bytes", e.id, e.off, end)
		}
		if strings.HasPrefix(e.id, "host-") {
			continue
		}
		if t, ok := target(e.id); ok {
			h.targets = append(h.targets, t)
		} else {
			h.other++
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.size, b.size)) })
	for i := 1; i < len(entries); i++ {
		a, b := entries[i-1], entries[i]
		if b.off < a.off+a.size && (a.off != b.off || a.size != b.size) {
			return head{}, fmt.Errorf("entries %q and %q share bytes", a.id, b.id)
		}
	}
	return h, nil
}

// target returns what an entry was compiled for. Its ID is the kind, the triple and the
// target, such as hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+; the triple's fourth part is
// empty or "unknown". Before version 4 of the code object's format it was left out, and
// features were written gfx906+sramecc: AMDGPUUsage, "Code Object V2 to V3 Target ID".
func target(id string) (arch.AMD, bool) {
	kind, rest, _ := strings.Cut(id, "-")
	if kind != "hip" && kind != "hipv4" && kind != "openmp" {
		return arch.AMD{}, false
	}
	for _, triple := range []string{"amdgcn-amd-amdhsa-", "spirv64-amd-amdhsa-"} {
		if name, ok := strings.CutPrefix(rest, triple); ok {
			name = strings.TrimPrefix(strings.TrimPrefix(name, "unknown"), "-")
			if !strings.Contains(name, ":") && strings.Contains(name, "+") {
				name = strings.ReplaceAll(name, "+", "+:") + "+" // gfx906+:sramecc+
				name = strings.Replace(name, "+:", ":", 1)
			}
			t, err := arch.ParseAMD(name)
			return t, err == nil
		}
	}
	return arch.AMD{}, false
}

// readUpTo reads what there is at off, which may be less than b has room for.
func readUpTo(r io.ReaderAt, b []byte, off int64) (int, error) {
	n, err := r.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read %d bytes at %d: %w", len(b), off, err)
	}
	return n, nil
}

// whole is err for a read that had to be whole.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
