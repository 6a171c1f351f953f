package fatbin

import (
	"encoding/binary"

	"infbench/stages/hardware/elf"
)

// watchLimit is what is kept of one library: headers of 60,000 entries. The largest library
// known holds 9,000.
const watchLimit = 6 << 20

// Watch returns what [elf.Capture] needs to know for [ReadAt] to read a library that came
// as a stream: the headers of its fat binaries, found by their magic, and what of the
// payloads is looked at.
func Watch() elf.Watcher { return watcher{} }

type watcher struct{}

// Pattern implements [elf.Watcher].
func (watcher) Pattern() []byte { return binary.LittleEndian.AppendUint32(nil, magic) }

// Limit implements [elf.Watcher].
func (watcher) Limit() int64 { return watchLimit }

// Follow implements [elf.Watcher]: header, entry by entry, and the zeros behind.
func (watcher) Follow(off int64) elf.Trail {
	t := &trail{at: off}
	t.step = t.region
	return t.next
}

// trail goes through what may be a region as [walker] does. The magic can stand in a
// payload by chance: what does not fit ends the trail and is nobody's fault.
type trail struct {
	at   int64 // where the next part begins
	end  int64 // of the region
	skip int64 // from the end of the part that was asked for to where the next one begins
	step func(got []byte) (n int64, ok bool)
	gap  int64 // zeros asked for behind the region
}

// next asks for n bytes from where the step before left off.
func (t *trail) next(got []byte) (elf.Span, bool) {
	if got == nil {
		t.at += headerSize
		return elf.Span{Off: t.at - headerSize, End: t.at}, true
	}
	n, ok := t.step(got)
	if !ok {
		return elf.Span{}, false
	}
	off := t.at + t.skip
	t.at, t.skip = off+n, 0
	return elf.Span{Off: off, End: t.at}, true
}

// region sees the header of a region.
func (t *trail) region(h []byte) (int64, bool) {
	le := binary.LittleEndian
	header, payload := int64(le.Uint16(h[6:])), le.Uint64(h[8:])
	if le.Uint16(h[4:]) != 1 || header < headerSize || payload > 1<<62 {
		return 0, false
	}
	t.skip = header - headerSize
	t.end = t.at + t.skip + int64(payload)
	return t.entries(t.at + t.skip)
}

// entries asks for the entry at a place of the region, or for the zeros behind it.
func (t *trail) entries(at int64) (int64, bool) {
	if t.end-at >= entrySize {
		t.step = t.entry
		return entrySize, true
	}
	// An entry cut short is read by nobody.
	t.step, t.gap = t.zeros, 8
	t.skip = t.end - t.at
	return t.gap, true
}

// entry sees the header of an entry.
func (t *trail) entry(h []byte) (int64, bool) {
	le := binary.LittleEndian
	header, size, flags := int64(le.Uint32(h[4:])), le.Uint64(h[8:]), le.Uint64(h[40:])
	room := t.end - t.at + entrySize
	if header < entrySize || header > room || size > uint64(room-header) {
		return 0, false
	}
	payload := elf.Span{Off: t.at - entrySize + header, End: t.at - entrySize + header + int64(size)}
	if !looksInside(le.Uint16(h[0:]), flags) || size == 0 {
		t.skip = payload.End - t.at
		return t.entries(payload.End)
	}
	n := min(payload.End-payload.Off, moduleHeader)
	t.skip = payload.Off - t.at
	t.step = func([]byte) (int64, bool) {
		t.skip = payload.End - t.at
		return t.entries(payload.End)
	}
	return n, true
}

// zeros sees what lies behind a region. Zeros do not say where the section ends, so they
// are kept as far as they go; they take no room.
func (t *trail) zeros(got []byte) (int64, bool) {
	const most = 4096
	for _, b := range got {
		if b != 0 {
			return 0, false
		}
	}
	t.gap = min(most, 2*t.gap)
	return t.gap, true
}
