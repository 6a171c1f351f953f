package offload

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"infbench/stages/hardware/elf"
)

// header is that of a compressed bundle.
type header struct {
	method  uint16
	header  int64  // its own bytes
	payload int64  // the bytes behind it
	length  int64  // of both, 0 where it is not told
	size    uint64 // of the bundle inside
}

// Methods of compression: llvm::compression::Format.
const (
	methodZlib = 0
	methodZstd = 1
)

// readHeader reads the header of the compressed bundle at the beginning of in:
//
//	version 1   "CCOB" version method │ size of what is inside, 32 bits │ hash
//	version 2   "CCOB" version method │ size of the whole, size of what is inside, 32 bits each │ hash
//	version 3   "CCOB" version method │ the same, 64 bits each │ hash
//
// The hash is of the bundle inside, which is not decompressed here.
func readHeader(r io.ReaderAt, in elf.Span) (header, error) {
	const longest = 32
	var raw [longest]byte
	room := in.End - in.Off
	n, err := readUpTo(r, raw[:min(longest, room)], in.Off)
	if err != nil {
		return header{}, err
	}
	le := binary.LittleEndian
	version := le.Uint16(raw[4:])
	h := header{method: le.Uint16(raw[6:])}
	var length uint64
	switch version {
	case 1:
		h.header, h.size = 20, uint64(le.Uint32(raw[8:]))
	case 2:
		h.header, length, h.size = 24, uint64(le.Uint32(raw[8:])), uint64(le.Uint32(raw[12:]))
	case 3:
		h.header, length, h.size = longest, le.Uint64(raw[8:]), le.Uint64(raw[16:])
	}
	switch {
	case n < 8 || int64(n) < h.header:
		return header{}, fmt.Errorf("the header is cut short after %d bytes: %w", n, io.ErrUnexpectedEOF)
	case h.header == 0:
		return header{}, fmt.Errorf("a compressed bundle of version %d, want 1, 2 or 3", version)
	case version == 1:
		h.payload = room - h.header
	case length < uint64(h.header) || length > uint64(room):
		return header{}, fmt.Errorf("a compressed bundle of %d bytes where %d are left, behind a header of %d", length, room, h.header)
	default:
		h.length, h.payload = int64(length), int64(length)-h.header
	}
	return h, nil
}

// inflater decompresses the beginnings of bundles. The zero inflater is ready.
type inflater struct{ zstd *zstd.Decoder }

// open returns the first bytes of what is compressed, as many as a table can have.
func (d *inflater) open(method uint16, r io.Reader) (io.Reader, error) {
	switch method {
	case methodZlib:
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil, whole(err)
		}
		return io.LimitReader(z, int64(maxTable)), nil
	case methodZstd:
		small, err := narrow(r)
		if err != nil {
			return nil, err
		}
		if d.zstd == nil {
			// One at a time: no goroutines, and nothing is decoded ahead of what is read.
			d.zstd, err = zstd.NewReader(small, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		} else {
			err = d.zstd.Reset(small)
		}
		if err != nil {
			return nil, err
		}
		return io.LimitReader(d.zstd, int64(maxTable)), nil
	}
	return nil, fmt.Errorf("method %d, want 0 (zlib) or 1 (zstd)", method)
}

// window is how far back a decoder need look for the beginning of a frame: no table is
// longer.
const window = 1 << 20

// A table of any size must come before the window has to move.
const _ = uint(window - maxTable)

// narrow returns the zstd frame with a header that asks for a small window. Bundles are
// compressed as one segment, for which a decoder would reserve all of what is inside, as
// much as the file likes to claim; but no byte before the window's end can refer to one
// behind it, so that the beginning decodes the same. The header is that of RFC 8878, 3.1.1.1.
func narrow(r io.Reader) (io.Reader, error) {
	const magic, windowLog20 = "\x28\xb5\x2f\xfd", (20 - 10) << 3
	var b [len(magic) + 1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("the zstd frame is cut short: %w", whole(err))
	}
	if string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("begins with %x, want a zstd frame", b[:len(magic)])
	}
	descriptor := b[len(magic)]
	single := descriptor&0x20 != 0
	rest := []int64{0, 2, 4, 8}[descriptor>>6] // the size of the content
	switch {
	case descriptor&0x08 != 0:
		return nil, errors.New("the zstd frame has a reserved bit set")
	case descriptor&0x03 != 0:
		return nil, errors.New("the zstd frame wants a dictionary, which bundles do not have")
	case single && rest == 0:
		rest = 1
	case !single:
		rest++ // the window
	}
	if _, err := io.CopyN(io.Discard, r, rest); err != nil {
		return nil, fmt.Errorf("the zstd frame is cut short: %w", whole(err))
	}
	// No checksum is asked for: it would be that of the whole.
	return io.MultiReader(bytes.NewReader(append([]byte(magic), 0, windowLog20)), r), nil
}
