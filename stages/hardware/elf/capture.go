package elf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
)

// A library inside a compressed layer or wheel comes once, from its beginning to its end,
// while its readers hop: to the table of sections at its end, and from there back. So the
// bytes that they will ask for are kept as they pass, and the readers run afterwards.

// ErrNotKept says that a part of a stream was read that was let pass.
var ErrNotKept = errors.New("this part was not kept as the file was unpacked: unpack it and name the file itself")

// Watcher says what to keep of a stream besides an ELF file's own headers.
type Watcher interface {
	// Pattern returns the bytes that begin what is watched: 4 at least, 32 at most.
	Pattern() []byte
	// Limit returns the bytes that are kept for it in one file, its bookkeeping included.
	Limit() int64
	// Follow returns the trail of a place where the pattern was found.
	Follow(off int64) Trail
}

// Trail names the parts to keep, one after the other: it is called with nothing for the
// first and then with the bytes of the one before. A part has 256 KiB at most and begins
// where the one before ends, or later; the first begins at the pattern, or later. A trail
// ends when ok is false, or when it breaks these rules.
type Trail func(got []byte) (next Span, ok bool)

const (
	maxPattern = 32
	maxPart    = 256 << 10
	window     = 256 << 10 // what is searched at a time: it stays in the processor's cache
	maxTrails  = 1024      // at a time, for each watcher: a false pattern in a payload must not hide a true one
	maxParts   = 1 << 20   // for each watcher: the largest library known needs 30,000
)

// Captured is what was kept of a stream. It reads like the file where bytes were kept, and
// returns [ErrNotKept] where they were not.
type Captured struct {
	size  int64
	own   headers
	parts kept
}

// Size returns the size of the file.
func (c *Captured) Size() int64 { return c.size }

// Kept returns how many bytes of memory are held.
func (c *Captured) Kept() int64 {
	return int64(len(c.own.head)+len(c.own.table.data)+len(c.own.names.data)) + c.parts.memory
}

// ReadAt implements [io.ReaderAt]. Before it returns [ErrNotKept] it fills in what comes
// before the part that is missing.
func (c *Captured) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("a place before the file")
	}
	n := 0
	for n < len(b) {
		at := off + int64(n)
		if at >= c.size {
			return n, io.EOF
		}
		got := c.own.copyAt(b[n:], at)
		if got == 0 {
			got = c.parts.copyAt(b[n:], at)
		}
		if got == 0 {
			return n, ErrNotKept
		}
		n += got
	}
	return n, nil
}

// Capture reads a stream of the given size to its end and keeps the headers of the ELF file
// that it is, and what the watchers ask for. It returns [ErrNotELF], and reads no further,
// when the stream is no ELF file and no watcher's pattern begins it.
func Capture(r io.Reader, size int64, watchers ...Watcher) (*Captured, error) {
	c := &Captured{size: max(0, size), own: headers{size: max(0, size)}}
	hunts := make([]*hunt, len(watchers))
	for i, w := range watchers {
		if n := len(w.Pattern()); n < 4 || n > maxPattern {
			panic(fmt.Sprintf("elf: a pattern of %d bytes", n))
		}
		hunts[i] = &hunt{Watcher: w, pattern: w.Pattern()}
	}
	s := scan{captured: c, hunts: hunts}
	buf := make([]byte, 0, min(int64(window+maxPattern), c.size+1))
	base := int64(0) // of buf in the file
	for {
		// What could be the beginning of a pattern waits for what follows it.
		n, err := io.ReadFull(r, buf[len(buf):min(int64(cap(buf)), c.size-base)])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return nil, err
		}
		fresh := base + int64(len(buf))
		buf = buf[:len(buf)+n]
		if base == 0 && fresh == 0 {
			if enough, err := s.begin(buf); enough || err != nil {
				return c, err
			}
		}
		c.own.pass(fresh, buf[fresh-base:])
		last := base+int64(len(buf)) == c.size
		if ended && !last {
			return nil, fmt.Errorf("%d bytes of %d: %w", base+int64(len(buf)), c.size, io.ErrUnexpectedEOF)
		}
		done := len(buf)
		if !last {
			done = max(0, done-maxPattern+1)
		}
		s.pass(base, buf, done)
		if last {
			return c, nil
		}
		buf = buf[:copy(buf, buf[done:])]
		base += int64(done)
	}
}

// begin looks at how a file begins; enough is true when nothing of the rest is needed.
func (s *scan) begin(b []byte) (enough bool, err error) {
	if !bytes.HasPrefix(b, []byte("\x7fELF")) {
		for _, h := range s.hunts {
			if bytes.HasPrefix(b, h.pattern) {
				return false, nil
			}
		}
		return true, ErrNotELF
	}
	if len(b) >= ehdrSize && !readable(b) {
		s.captured.own.head = bytes.Clone(b[:ehdrSize])
		return true, nil
	}
	return false, nil
}

// kept is a row of parts of a file in their order.
type kept struct {
	parts  []part
	end    int64 // of the last one
	memory int64 // of all
	block  []byte
}

// part is a piece of the file; data is nil for one of zeros, which cost nothing.
type part struct {
	Span
	data []byte
}

const partSize = 40 // of a part in memory, for the count

// copyAt copies what one part holds of the bytes at off.
func (k *kept) copyAt(b []byte, off int64) int {
	i := sort.Search(len(k.parts), func(i int) bool { return k.parts[i].End > off })
	if i == len(k.parts) || k.parts[i].Off > off {
		return 0
	}
	p := k.parts[i]
	if p.data != nil {
		return copy(b, p.data[off-p.Off:])
	}
	n := int(min(int64(len(b)), p.End-off))
	clear(b[:n])
	return n
}

// zeros keeps a run of zeros behind all that is kept.
func (k *kept) zeros(in Span) {
	in.Off = max(in.Off, k.end)
	if in.Off >= in.End {
		return
	}
	if n := len(k.parts); n > 0 && k.parts[n-1].End == in.Off && k.parts[n-1].data == nil {
		k.parts[n-1].End = in.End
	} else {
		k.parts = append(k.parts, part{Span: in})
		k.memory += partSize
	}
	k.end = in.End
}

// add keeps the bytes at off, those of them that lie behind all that is kept.
func (k *kept) add(off int64, b []byte) {
	if off < k.end {
		b = b[min(int64(len(b)), k.end-off):]
		off = k.end
	}
	if len(b) >= partSize && len(bytes.TrimLeft(b, "\x00")) == 0 {
		k.zeros(Span{off, off + int64(len(b))})
		return
	}
	for len(b) > 0 {
		if len(k.block) == cap(k.block) {
			k.block = make([]byte, 0, min(window, max(4<<10, 2*cap(k.block))))
		}
		start := len(k.block)
		n := copy(k.block[start:cap(k.block)], b)
		k.block = k.block[:start+n]
		if i := len(k.parts) - 1; start > 0 && i >= 0 && k.parts[i].End == off && k.parts[i].data != nil {
			p := &k.parts[i]
			p.data, p.End = k.block[start-len(p.data):], off+int64(n)
		} else {
			k.parts = append(k.parts, part{Span{off, off + int64(n)}, k.block[start:]})
			k.memory += partSize
		}
		k.memory += int64(n)
		off, b = off+int64(n), b[n:]
		k.end = off
	}
}
