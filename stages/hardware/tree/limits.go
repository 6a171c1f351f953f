package tree

import (
	"context"
	"fmt"
	"io"
)

// bounds are what one Read spends at most. A site-packages tree with two engines in it has
// 150,000 entries and 2,000 libraries; an image of an engine has 300,000 entries in 30
// layers and 40 GB.
type bounds struct {
	entries  int   // files, folders and links
	names    int64 // bytes of their paths
	kept     int   // files
	unpacked int64 // bytes of streams, all layers together
	layers   int
	document int64 // bytes of a manifest or configuration
	outer    int   // entries of an image archive itself
	folder   int64 // bytes of a zip file's directory
}

var usual = bounds{
	entries: 2_000_000, names: 512 << 20, kept: 20_000, unpacked: 1 << 40, layers: 512,
	document: 8 << 20, outer: 20_000, folder: 64 << 20,
}

func (b bounds) orUsual() bounds {
	if b == (bounds{}) {
		return usual
	}
	return b
}

const (
	maxPath     = 4096 // bytes, as Linux has it
	maxDepth    = 64   // folders; the deepest seen in images have 25
	maxIndexes  = 4    // one inside the other
	maxImages   = 1024
	maxHops     = 8         // links in an image archive itself
	maxWindow   = 128 << 20 // what a zstd stream may look back, the most that its tools write unasked
	bufferBytes = 256 << 10
)

// tooMuchError is the refusal of what goes beyond a bound.
type tooMuchError string

func (e tooMuchError) Error() string { return string(e) }

func tooMuch(format string, n int64) error { return tooMuchError(fmt.Sprintf(format, n)) }

// budget is what was spent.
type budget struct {
	ctx      context.Context
	bounds   bounds
	entries  int
	names    int64
	kept     int
	unpacked int64
}

// entry pays for one entry.
func (b *budget) entry(path string) error {
	b.entries++
	b.names += int64(len(path))
	switch {
	case b.entries > b.bounds.entries:
		return tooMuch("more than %d entries: name a narrower folder, or the library itself", int64(b.bounds.entries))
	case b.names > b.bounds.names:
		return tooMuch("names of more than %d MiB: name a narrower folder, or the library itself", b.bounds.names>>20)
	}
	return b.spent()
}

// spent says that too much was unpacked or kept, which only its reader was told so far.
func (b *budget) spent() error {
	switch {
	case b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case b.unpacked > b.bounds.unpacked:
		return tooMuch("it unpacks to more than %d bytes: unpack the library that is meant and name it", b.bounds.unpacked)
	case b.kept > b.bounds.kept:
		return tooMuch("more than %d files to look into: name a narrower folder, or the library itself", int64(b.bounds.kept))
	}
	return nil
}

// metered pays for what is unpacked.
type metered struct {
	r io.Reader
	b *budget
}

// Read implements [io.Reader].
func (m metered) Read(p []byte) (int, error) {
	if err := m.b.spent(); err != nil {
		return 0, err
	}
	n, err := m.r.Read(p)
	m.b.unpacked += int64(n)
	return n, err
}
