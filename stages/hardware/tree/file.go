package tree

import (
	"errors"
	"io"
)

// File is a regular file as a visitor sees it, for the time of the visit.
type File struct {
	path   string
	size   int64
	at     io.ReaderAt
	stream io.Reader
}

// Path returns where the file is: slash-separated, inside the root, never leaving it. It is
// as hostile as its maker: print it through gates.Printable.
func (f File) Path() string { return f.path }

// Size returns the length of the file in bytes, as the place where it is kept says.
func (f File) Size() int64 { return f.size }

// At returns the file for seeking in it; ok is false when it can be had in order alone.
func (f File) At() (r io.ReaderAt, ok bool) { return f.at, f.at != nil }

// Stream returns the file from its beginning to its end, once: a second call goes on where
// the first one was.
func (f File) Stream() io.Reader { return f.stream }

// once ends with the visit.
type once struct {
	r    io.Reader
	over bool
}

// Read implements [io.Reader].
func (o *once) Read(b []byte) (int, error) {
	if o.over {
		return 0, errors.New("the visit of this file is over")
	}
	return o.r.Read(b)
}
