// Package tree shows the files that a container or an interpreter would see, wherever they
// are kept: in a folder, in one file, in a wheel, in the archive of an image.
//
// The one rule: nothing is unpacked to disk, and memory does not grow with what is read. A
// file of a folder can be sought in; one out of something compressed comes once, in order.
//
// A layer of an image can hide files of the layers below it, and which ones is known only
// once it is read. So each file is looked at when it passes, and what was found is shown or
// dropped at the end. All input is hostile: see limits.go for the bounds.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"infbench/gates"
)

// Kind is what a path turned out to be, in words.
type Kind string

// The kinds.
const (
	Folder        Kind = "folder"
	SingleFile    Kind = "file"
	Wheel         Kind = "wheel or zip file"
	OCILayout     Kind = "OCI image layout"
	OCIArchive    Kind = "OCI image archive"
	DockerArchive Kind = "Docker image archive"
)

// Options say how to look. The zero value looks at all there is.
type Options struct {
	// Platform picks an image among those of several platforms, such as "linux/arm64". Empty
	// means Linux on this machine's architecture, or the only one there is.
	Platform string
	// CountLink says of a link's path whether it is counted; nil counts all. In an image it is
	// told of links too that a later layer hides.
	CountLink func(path string) bool

	bounds bounds // for tests: what is zero has its usual value
}

// Found is a file that was visited and kept.
type Found[T any] struct {
	Path  string // slash-separated, inside the root; as hostile as its maker: print it through gates.Printable
	Value T
	Err   error // what the visit returned, or why the file could not be read
}

// Report says what was looked at. Its texts can be printed.
type Report struct {
	Kind     Kind
	Platform string    // of the image, such as linux/amd64
	Manifest string    // digest of the image's manifest; empty for an archive without one
	Config   string    // digest of the image's configuration, which Docker calls its ID
	Created  time.Time // of the image, as it says itself
	Tags     []string  // of the image, as it says itself
	Layers   int       // of the image
	Entries  int       // files, folders and links that were passed, those of hidden ones too
	Links    int       // symbolic links among them, which are not followed; see Options.CountLink
	Notes    []string  // what was passed over, and why
}

// Read shows visit every regular file below the path: those that a container or interpreter
// would see there, and of an image those too that a later layer hides. It returns in the
// order of their paths what visit wants kept of those that can be seen. An error of visit
// belongs to its file, which is kept with it.
//
// In an image, a second name of a file (a hard link) shows what was kept under the first:
// visit goes by the bytes, or keeps what any name could be wanted for.
//
// An error of Read says what, where and what to do, and holds no more of the path than its
// last part. Whoever stops ctx gets its cause.
func Read[T any](ctx context.Context, path string, o Options, visit func(File) (value T, keep bool, err error)) ([]Found[T], Report, error) {
	type kept struct {
		value T
		err   error
	}
	var all []kept
	v := &visitor{
		budget:    budget{ctx: ctx, bounds: o.bounds.orUsual()},
		countLink: o.CountLink,
		visit: func(f File) (int, bool) {
			value, keep, err := visit(f)
			if !keep && err == nil {
				return 0, false
			}
			all = append(all, kept{value, err})
			return len(all) - 1, true
		},
		damaged: func(err error) int {
			all = append(all, kept{err: err})
			return len(all) - 1
		},
	}
	err := v.read(path, o.Platform)
	if ctx.Err() != nil {
		return nil, v.report, context.Cause(ctx)
	}
	if err != nil {
		return nil, v.report, fmt.Errorf("%s: %w", printable(filepath.Base(path)), WithoutPath(err))
	}
	var out []Found[T]
	for path, id := range v.seen.files {
		out = append(out, Found[T]{path, all[id].value, all[id].err})
	}
	slices.SortFunc(out, func(a, b Found[T]) int { return strings.Compare(a.Path, b.Path) })
	return out, v.report, nil
}

// visitor carries one Read: what may still be spent, what was found.
type visitor struct {
	budget
	visit     func(File) (id int, keep bool)
	damaged   func(error) (id int)
	countLink func(string) bool
	seen      union
	report    Report
	odd       map[string]int // notes that are counted
}

// read finds out what the path is, by looking.
func (v *visitor) read(path, platform string) error {
	// Asked before it is opened: opening a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	defer v.note()
	switch {
	case info.IsDir():
		return v.directory(path, platform)
	case !info.Mode().IsRegular():
		return errors.New("neither a file nor a folder: name one of them")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it changed as it was opened: try again")
	}
	return v.file(&opened{f}, filepath.Base(path), info.Size(), platform)
}

// file reads a file by what its first bytes say that it is.
func (v *visitor) file(f *opened, name string, size int64, platform string) error {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head = head[:n]
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case isZip(head):
		return v.zip(f, size)
	case isTar(head):
		return v.archive(f, size, platform)
	case isPacked(head):
		if inside, err := v.peek(io.NewSectionReader(f, 0, size)); err == nil && isTar(inside) {
			return v.stream(io.NewSectionReader(f, 0, size), platform)
		}
	case ext == ".whl" || ext == ".zip":
		return fmt.Errorf("called %s and no zip file: is the download complete?", ext)
	case ext == ".tar":
		return fmt.Errorf("called %s and no tar archive: is the download complete?", ext)
	}
	v.report.Kind = SingleFile
	v.report.Entries++
	v.seen.add(v.show(File{path: name, size: size, at: f}))
	return nil
}

// show shows one file to the visitor, and returns what is kept of it.
func (v *visitor) show(f File) entry {
	if f.stream == nil {
		f.stream = io.NewSectionReader(f.at, 0, f.size)
	}
	once := &once{r: f.stream}
	f.stream = once
	id, keep := v.visit(f)
	once.over = true
	return v.keep(f.path, id, keep)
}

func (v *visitor) keep(path string, id int, keep bool) entry {
	if keep {
		v.kept++
	} else {
		id = nothing
	}
	return entry{path: path, kind: regular, id: id}
}

// broken keeps a file that could not be read.
func (v *visitor) broken(path string, err error) entry {
	return v.keep(path, v.damaged(WithoutPath(err)), true)
}

// link counts a symbolic link.
func (v *visitor) link(path string) {
	if v.countLink == nil || v.countLink(path) {
		v.report.Links++
	}
}

// oddity counts something that is passed over.
func (v *visitor) oddity(what string) {
	if v.odd == nil {
		v.odd = map[string]int{}
	}
	v.odd[what]++
}

// note writes the oddities into the report.
func (v *visitor) note() {
	var lines []string
	for what, n := range v.odd {
		lines = append(lines, fmt.Sprintf("%d × %s", n, what))
	}
	slices.Sort(lines)
	v.report.Notes = append(v.report.Notes, lines...)
}

// WithoutPath takes the path off an error of the file system: evidence holds none, and Read
// names the last part of it.
func WithoutPath(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	if p, ok := errors.AsType[*os.LinkError](err); ok {
		return p.Err
	}
	return err
}

func printable(s string) string { return gates.Printable(s, 120) }
