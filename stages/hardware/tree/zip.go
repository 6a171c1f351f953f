package tree

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/klauspost/compress/flate"
)

func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// zip reads the files of a wheel or zip file in the order in which they lie there.
func (v *visitor) zip(f io.ReaderAt, size int64) error {
	v.report.Kind = Wheel
	directory := &atMost{r: f, left: v.bounds.folder}
	z, err := zip.NewReader(directory, size)
	switch {
	case directory.left < 0:
		return fmt.Errorf("a zip file whose directory has more than %d MiB: unpack it and name the folder", v.bounds.folder>>20)
	case err != nil:
		return fmt.Errorf("not a sound zip file (%w): is the download complete?", err)
	}
	directory.open = true
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) })
	members, err := v.members(z, size)
	if err != nil {
		return err
	}
	for _, m := range members {
		e, ok, err := v.member(f, m)
		if err != nil {
			return err
		}
		if ok {
			v.seen.add(e)
		}
	}
	return nil
}

// member is a file of a zip file, and where its bytes are.
type member struct {
	*zip.File
	off int64
}

// members returns the files in the order of their bytes, and refuses those that share some:
// a small file would unpack to an endless one.
func (v *visitor) members(z *zip.Reader, size int64) ([]member, error) {
	ms := make([]member, 0, len(z.File))
	for _, f := range z.File {
		if err := v.entry(f.Name); err != nil {
			return nil, err
		}
		off, err := f.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("no sound zip file: the header of %s: %w: is the download complete?", printable(f.Name), err)
		}
		ms = append(ms, member{f, off})
	}
	slices.SortStableFunc(ms, func(a, b member) int { return cmp.Compare(a.off, b.off) })
	const header = 30 // of a member, before its name
	end := int64(0)
	for _, m := range ms {
		if m.off-header < end {
			return nil, fmt.Errorf("no sound zip file: %s shares bytes with another member: do not use it", printable(m.Name))
		}
		if m.CompressedSize64 > uint64(size-m.off) {
			return nil, fmt.Errorf("no sound zip file: %s ends past the file: is the download complete?", printable(m.Name))
		}
		end = m.off + int64(m.CompressedSize64)
	}
	return ms, nil
}

// member shows one; ok is false when it is no file.
func (v *visitor) member(f io.ReaderAt, m member) (e entry, ok bool, err error) {
	if v.ctx.Err() != nil {
		return entry{}, false, v.ctx.Err()
	}
	v.report.Entries++
	name, sound := clean(m.Name)
	switch mode := m.Mode(); {
	case !sound:
		v.oddity(badName)
		return entry{}, false, nil
	case mode&fs.ModeSymlink != 0:
		v.link(name)
		return entry{}, false, nil
	case !mode.IsRegular():
		return entry{}, false, nil
	}
	const encrypted = 1
	size := m.UncompressedSize64
	switch {
	case m.Flags&encrypted != 0:
		return v.broken(name, errors.New("encrypted: unpack it and name the folder")), true, nil
	case size > 1<<62:
		return v.broken(name, fmt.Errorf("a size of %d bytes", size)), true, nil
	case m.Method == zip.Store && size != m.CompressedSize64:
		return v.broken(name, fmt.Errorf("stored in %d bytes, and %d long: do not use it", m.CompressedSize64, size)), true, nil
	case m.Method == zip.Store:
		return v.show(File{path: name, size: int64(size), at: io.NewSectionReader(f, m.off, int64(size))}), true, nil
	}
	r, err := m.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		err = fmt.Errorf("compressed by method %d, which is not read: unpack it and name the folder", m.Method)
	}
	if err != nil {
		return v.broken(name, err), true, nil
	}
	defer r.Close()
	e = v.show(File{path: name, size: int64(size), stream: metered{r, &v.budget}})
	return e, true, v.spent()
}

// atMost reads so much, and everything once it is open.
type atMost struct {
	r    io.ReaderAt
	left int64
	open bool
}

// ReadAt implements [io.ReaderAt].
func (a *atMost) ReadAt(b []byte, off int64) (int, error) {
	if a.open {
		return a.r.ReadAt(b, off)
	}
	if a.left < 0 {
		return 0, errors.New("too much")
	}
	n, err := a.r.ReadAt(b, off)
	a.left -= int64(n)
	return n, err
}
