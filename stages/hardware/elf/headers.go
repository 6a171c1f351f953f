package elf

import (
	"debug/elf"
	"encoding/binary"
)

const (
	headSize = 64 << 10 // from the beginning: notes and program headers lie here
	backlog  = 8 << 20  // before the section headers: linkers put the section names there
	maxNames = 1 << 20  // of section names; an ordinary library has 400 bytes
)

// headers keeps a file's own headers as the file passes: its beginning, its section headers
// and their names.
type headers struct {
	size         int64
	head         []byte
	table, names piece
	tail         piece // what comes before the section headers, and they; let go once the names are found
	opened       bool
}

// piece is one part of a file; data grows to its length as the file passes.
type piece struct {
	Span
	data []byte
}

func (p *piece) whole() bool { return int64(len(p.data)) == p.End-p.Off }

// pass takes what it has not yet of the bytes that begin at off.
func (p *piece) pass(off int64, b []byte) {
	next, end := p.Off+int64(len(p.data)), off+int64(len(b))
	if next < off || next >= min(p.End, end) {
		return
	}
	if p.data == nil {
		p.data = make([]byte, 0, p.End-p.Off)
	}
	p.data = append(p.data, b[next-off:min(p.End, end)-off]...)
}

func (p *piece) copyAt(b []byte, off int64) int {
	if off < p.Off || off >= p.Off+int64(len(p.data)) {
		return 0
	}
	return copy(b, p.data[off-p.Off:])
}

func (h *headers) copyAt(b []byte, off int64) int {
	if off < int64(len(h.head)) {
		return copy(b, h.head[off:])
	}
	for _, p := range []*piece{&h.table, &h.names, &h.tail} {
		if n := p.copyAt(b, off); n > 0 {
			return n
		}
	}
	return 0
}

// ReadAt reads what is kept already.
func (h *headers) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) {
		got := h.copyAt(b[n:], off+int64(n))
		if got == 0 {
			return n, ErrNotKept
		}
		n += got
	}
	return n, nil
}

// pass takes the bytes at off. The first call has the whole ELF header.
func (h *headers) pass(off int64, b []byte) {
	if n := int64(len(h.head)); n == off && n < headSize {
		h.head = append(h.head, b[:min(int64(len(b)), headSize-n)]...)
	}
	if off == 0 {
		h.aim()
	}
	h.tail.pass(off, b)
	if h.tail.End > 0 && h.tail.whole() && !h.opened {
		h.open(off, b)
	}
	h.names.pass(off, b)
}

// aim finds out where the section headers begin. A file without them, or with nonsense,
// needs nothing more: its reader sees it in the header of the file too.
func (h *headers) aim() {
	if len(h.head) < ehdrSize || string(h.head[:4]) != elf.ELFMAG || binary.LittleEndian.Uint64(h.head[0x28:]) == 0 {
		return
	}
	t := table{size: h.size}
	first, err := t.first(h.head)
	if err != nil {
		return
	}
	h.tail.Off = max(0, first.Off-backlog)
	h.tail.End = first.End
	// Nearly always the count is known, and all headers come at once.
	if count := int64(binary.LittleEndian.Uint16(h.head[0x3c:])); count > 0 {
		h.tail.End = min(h.size, first.Off+count*shdrSize)
	}
}

// open finds the section names once the section headers, or the first of them that counts
// the others, have passed. off and b are what passes now.
func (h *headers) open(off int64, b []byte) {
	t := table{r: h, size: h.size}
	if t.open(h.head) != nil {
		if first, err := t.first(h.head); err == nil {
			h.keep(&h.table, first) // for the reader to see the same
		}
		h.drop()
		return
	}
	if t.headers.End > h.tail.End {
		h.tail.End = t.headers.End
		if h.tail.pass(off, b); !h.tail.whole() {
			return
		}
	}
	h.keep(&h.table, t.headers)
	if text, err := t.names(); err == nil {
		text.End = min(text.End, text.Off+maxNames)
		h.keep(&h.names, text)
	}
	h.drop()
}

// keep copies a part out of what has passed; where that does not have it all, the part is
// taken as it passes, or is not had.
func (h *headers) keep(p *piece, at Span) {
	got := make([]byte, at.End-at.Off)
	n, err := h.ReadAt(got, at.Off)
	p.Span = at
	if err == nil || n > 0 {
		p.data = got[:n]
	}
}

// drop lets go of what came before the section headers.
func (h *headers) drop() { h.opened, h.tail = true, piece{} }
