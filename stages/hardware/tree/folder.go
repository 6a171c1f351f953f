package tree

import (
	"errors"
	"io/fs"
	"os"
)

// directory reads a folder: an image's layout, or one of files.
func (v *visitor) directory(name, platform string) error {
	// The root itself may be a link: it was named. Nothing is opened outside of it.
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	if isFile(root, layoutFile) && isFile(root, indexFile) {
		return v.layout(root, platform)
	}
	v.report.Kind = Folder
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if path == "." {
			return err
		}
		if paid := v.entry(path); paid != nil {
			return paid
		}
		v.report.Entries++
		switch {
		case err != nil:
			v.seen.add(v.broken(path, err))
		case d.Type()&fs.ModeSymlink != 0:
			// They lead to files that are read anyway, or out of the folder.
			v.link(path)
		case d.Type().IsRegular():
			v.seen.add(v.inFolder(root, path, d))
		case !d.IsDir():
			v.oddity("a pipe, socket or device: not read")
		}
		return nil
	})
}

func (v *visitor) inFolder(root *os.Root, path string, d fs.DirEntry) entry {
	info, err := d.Info()
	if err != nil {
		return v.broken(path, err)
	}
	f := &lazy{root: root, path: path}
	defer f.close()
	return v.show(File{path: path, size: info.Size(), at: f})
}

// lazy is a file that is opened when it is read: most files are passed by for their names.
type lazy struct {
	root *os.Root
	path string
	f    *opened
	err  error
}

// ReadAt implements [io.ReaderAt].
func (l *lazy) ReadAt(b []byte, off int64) (int, error) {
	if l.f == nil && l.err == nil {
		l.f, l.err = openFile(l.root, l.path)
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.f.ReadAt(b, off)
}

func (l *lazy) close() {
	if l.f != nil {
		_ = l.f.Close() // it was read only
	}
	l.f, l.err = nil, errors.New("the visit of this file is over")
}

// openFile opens a regular file of a folder.
func openFile(root *os.Root, path string) (*opened, error) {
	// Asked before it is opened: opening a pipe would wait for its writer.
	info, err := root.Lstat(path)
	if err != nil {
		return nil, WithoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, WithoutPath(err)
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		_ = f.Close() // it was not read
		return nil, errors.New("it changed as it was opened: try again")
	}
	return &opened{f}, nil
}

// opened is a file whose errors do not hold its path.
type opened struct{ f *os.File }

// Read implements [io.Reader].
func (o *opened) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	return n, WithoutPath(err)
}

// ReadAt implements [io.ReaderAt].
func (o *opened) ReadAt(b []byte, off int64) (int, error) {
	n, err := o.f.ReadAt(b, off)
	return n, WithoutPath(err)
}

// Close implements [io.Closer].
func (o *opened) Close() error { return o.f.Close() }

func isFile(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}
