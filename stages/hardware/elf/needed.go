package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
)

// What an ELF file asks the loader for stands in a table that its program headers point to,
// by offsets into a table of strings that may lie before or behind it.

const (
	phdrSize     = 56
	maxDynamic   = 64 << 10
	maxNeeded    = 1024
	maxNeedName  = 128
	maxMentioned = 4096
)

// layout is what the program headers say: where the segments lie, and the dynamic table.
type layout struct {
	loads   []elf.Prog64
	dynamic Span
}

// layoutOf reads the program headers from the beginning of a file; ok is false where there
// is no dynamic table that could be followed.
func layoutOf(head []byte) (l layout, ok bool) {
	if len(head) < ehdrSize || string(head[:4]) != elf.ELFMAG || elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return layout{}, false
	}
	le := binary.LittleEndian
	at, size, count := le.Uint64(head[0x20:]), int(le.Uint16(head[0x36:])), int(le.Uint16(head[0x38:]))
	if size != phdrSize || at > uint64(len(head)) {
		return layout{}, false
	}
	for b := head[at:]; count > 0 && len(b) >= phdrSize; count, b = count-1, b[phdrSize:] {
		p := elf.Prog64{Type: le.Uint32(b), Off: le.Uint64(b[8:]), Vaddr: le.Uint64(b[16:]), Filesz: le.Uint64(b[32:])}
		switch elf.ProgType(p.Type) {
		case elf.PT_LOAD:
			l.loads = append(l.loads, p)
		case elf.PT_DYNAMIC:
			if n := min(p.Filesz, maxDynamic); p.Off < 1<<62 {
				l.dynamic = Span{int64(p.Off), int64(p.Off + n)}
			}
		default:
		}
	}
	return l, l.dynamic.End > l.dynamic.Off
}

// names returns where the names of the needed libraries lie in the file.
func (l layout) names(dynamic []byte) []int64 {
	le := binary.LittleEndian
	var offsets []uint64
	table, found := uint64(0), false
	for b := dynamic; len(b) >= 16; b = b[16:] {
		switch tag, value := elf.DynTag(le.Uint64(b)), le.Uint64(b[8:]); tag {
		case elf.DT_NULL:
			b = nil
		case elf.DT_NEEDED:
			if len(offsets) < maxNeeded {
				offsets = append(offsets, value)
			}
		case elf.DT_STRTAB:
			for _, p := range l.loads {
				if value >= p.Vaddr && value-p.Vaddr < p.Filesz && p.Off < 1<<62 {
					table, found = p.Off+(value-p.Vaddr), true
				}
			}
		default:
		}
		if b == nil {
			break
		}
	}
	if !found {
		return nil
	}
	var out []int64
	for _, o := range offsets {
		if o < 1<<40 && table < 1<<62 {
			out = append(out, int64(table+o))
		}
	}
	return out
}

// Needed returns the names of the libraries that a file asks the loader for. A file that is
// none, or that says it in no way that could be followed, asks for none.
func Needed(r io.ReaderAt, size int64) ([]string, error) {
	head, err := read(r, 0, min(size, headSize))
	if err != nil {
		return nil, err
	}
	l, ok := layoutOf(head)
	if !ok {
		return nil, nil
	}
	dynamic, err := read(r, l.dynamic.Off, l.dynamic.End-l.dynamic.Off)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, at := range l.names(dynamic) {
		b, err := read(r, at, maxNeedName)
		if err != nil {
			return nil, err
		}
		if i := bytes.IndexByte(b, 0); i > 0 {
			out = append(out, string(b[:i]))
		}
	}
	return out, nil
}

// read returns up to n bytes at a place: fewer where the file ends.
func read(r io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, max(0, n))
	got, err := r.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:got], err
}

// Asked finds in a stream, written to it from the beginning of a file, which libraries the
// file asks the loader for, of those whose names it was told to look for.
type Asked struct {
	want      func(name string) bool
	at        int64 // of what comes next
	head      []byte
	layout    layout
	known     bool
	dynamic   []byte
	tail      []byte // of what has passed: a name may lie across
	mentioned map[int64]string
}

// NewAsked returns an Asked that looks for the names that want accepts; they begin with
// "lib".
func NewAsked(want func(name string) bool) *Asked {
	return &Asked{want: want, mentioned: map[int64]string{}}
}

// Write takes the next bytes of the file. It never fails.
func (a *Asked) Write(b []byte) (int, error) {
	if room := headSize - len(a.head); room > 0 {
		a.head = append(a.head, b[:min(room, len(b))]...)
	}
	if !a.known && len(a.head) == headSize {
		a.begin()
	}
	a.mention(b)
	if s := a.layout.dynamic; a.known && a.at < s.End && a.at+int64(len(b)) > s.Off {
		from, to := max(s.Off-a.at, 0), min(s.End-a.at, int64(len(b)))
		a.dynamic = append(a.dynamic, b[from:to]...)
	}
	a.at += int64(len(b))
	return len(b), nil
}

// begin follows the head, and takes what has passed already of the table.
func (a *Asked) begin() {
	if a.layout, a.known = layoutOf(a.head); a.known && a.layout.dynamic.Off < a.at {
		a.dynamic = append(a.dynamic, a.head[a.layout.dynamic.Off:min(a.layout.dynamic.End, a.at)]...)
	}
}

var nameBegins = []byte("\x00lib")

// mention notes the names in b and in what lies across its beginning.
func (a *Asked) mention(b []byte) {
	window := append(a.tail, b...)
	base := a.at - int64(len(a.tail))
	for at := 0; len(a.mentioned) < maxMentioned; {
		i := bytes.Index(window[at:], nameBegins)
		if i < 0 {
			break
		}
		at += i + 1
		if n := bytes.IndexByte(window[at:min(len(window), at+maxNeedName)], 0); n > 0 && a.want(string(window[at:at+n])) {
			a.mentioned[base+int64(at)] = string(window[at : at+n])
		}
	}
	a.tail = append([]byte(nil), window[max(0, len(window)-maxNeedName-1):]...)
}

// Needed returns the names found that the file asks the loader for.
func (a *Asked) Needed() []string {
	if !a.known {
		a.begin() // the file is shorter than a head
	}
	var out []string
	for _, at := range a.layout.names(a.dynamic) {
		if name, ok := a.mentioned[at]; ok {
			out = append(out, name)
		}
	}
	return out
}
