package evidence

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What a folder keeps: a hook that fails at each restart must not fill a disk.
const (
	maxBundles = 50
	maxFolder  = 256 << 20 // bytes
)

// Folder is where bundles are kept, the latest of them.
type Folder struct {
	path    string
	bundles int
	bytes   int64
}

// NewFolder returns the folder at a path, which need not exist.
func NewFolder(path string) Folder { return Folder{path, maxBundles, maxFolder} }

// Path returns the folder's path.
func (f Folder) Path() string { return f.path }

// Save writes a bundle, whole or not at all, and removes the oldest ones for which there
// is no room. The folder is made for its owner alone where it is not there. It returns the
// path of the file.
func (f Folder) Save(b Bundle) (path string, err error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return "", err
	}
	if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	// All that follows stays in the folder, whatever links lie in it.
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	name := b.FileName()
	if err := write(root, name, b); err != nil {
		return "", err
	}
	f.prune(root, name)
	return filepath.Join(f.path, name), nil
}

// write lays a bundle under another name first, so that no half of one is ever read.
func write(root *os.Root, name string, b Bundle) error {
	tmp := "." + name + ".tmp"
	f, err := root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	if err = cmp.Or(b.Write(out), out.Flush()); err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
	}
	return err
}

// ours are the names that this package gives: bundles, and what a kill left of one.
var ours = regexp.MustCompile(`^\.?[a-z]+\.[a-z0-9._-]+-(\d{8}T\d{6}Z)-[0-9a-f]{8}\.json\.gz(\.tmp)?$`)

// prune removes the oldest bundles beyond what the folder keeps. Only a regular file that
// has the name and the first bytes of a bundle is one; what cannot be removed stays, and
// is no reason to keep no evidence.
func (f Folder) prune(root *os.Root, written string) {
	files := listed(root)
	if f.holds(files) {
		return // without a look into any of them
	}
	files = slices.DeleteFunc(files, func(x file) bool { return !isBundle(root, x) })
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.since, b.since), a.info.ModTime().Compare(b.info.ModTime()), cmp.Compare(a.name, b.name))
	})
	for i := 0; i < len(files) && !f.holds(files); {
		if files[i].name == written { // whatever the clock says, and however large
			i++
			continue
		}
		_ = root.Remove(files[i].name)
		files = slices.Delete(files, i, i+1)
	}
}

// holds reports whether there is room for all of these.
func (f Folder) holds(files []file) bool {
	var size int64
	for _, x := range files {
		size += x.info.Size()
	}
	return len(files) <= f.bundles && size <= f.bytes
}

// file is a regular file with the name of a bundle of a run of that time.
type file struct {
	name, since string
	info        fs.FileInfo
}

func listed(root *os.Root) (out []file) {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(-1) // what was read before an error is looked at
	for _, e := range entries {
		m := ours.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			out = append(out, file{e.Name(), m[1], info})
		}
	}
	return out
}

// isBundle reports whether the file that was listed begins as a bundle of any version.
func isBundle(root *os.Root, x file) bool {
	f, err := root.Open(x.name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !os.SameFile(info, x.info) { // a link was put in its place
		return false
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return false
	}
	schema, _, _ := strings.Cut(Schema, "/")
	want := []byte(`{"schema":"` + schema + `/`)
	begins := make([]byte, len(want))
	_, err = io.ReadFull(z, begins)
	return err == nil && bytes.Equal(begins, want)
}
