package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const accepted = "give a checkpoint folder, a *.safetensors.index.json, a *.safetensors or a *.gguf file"

// locate finds out what stands at path and which source reads it.
func locate(path string) (Source, error) {
	if strings.Contains(path, "://") {
		return nil, fmt.Errorf("a URL is no path: %s on this machine", accepted)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, plainError(err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no such file or folder: %s", accepted)
	case err != nil:
		return nil, plainError(err)
	}
	if info.IsDir() {
		name, revision := placeOf(abs)
		return folder{dir: abs, place: Place{Kind: Folder, Name: name, Revision: revision}}, nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file: %s", accepted)
	}
	base := filepath.Base(abs)
	kind, ok := KindOfFile(base)
	if !ok && isGGUF(abs) {
		kind, ok = GGUFModel, true
	}
	if !ok {
		return nil, fmt.Errorf("neither an index nor a file of weights: %s", accepted)
	}
	_, revision := placeOf(filepath.Dir(abs))
	return folder{dir: filepath.Dir(abs), only: base, place: Place{Kind: kind, Name: base, Revision: revision}}, nil
}

// KindOfFile returns what a file of that name would be opened as; ok is false when
// it is no part of a checkpoint that could be opened alone.
func KindOfFile(name string) (k Kind, ok bool) {
	switch {
	case strings.HasSuffix(name, IndexSuffix):
		return IndexOnly, true
	case isShard(name):
		return SingleShard, true
	case isGGUFName(name):
		return GGUFModel, true
	}
	return 0, false
}

// Beside reports whether a file belongs to the view that one file, named only, gives
// of its folder: itself, the small files that describe the checkpoint, and the other
// pieces of a split GGUF. An empty name gives the view of the whole folder.
func Beside(only, name string) bool {
	return only == "" || name == only || small(name) || sameSplit(only, name)
}

func isGGUF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "GGUF"
}

// plainError drops the path that the system repeats: the message names it.
func plainError(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// A folder reads a local folder, or one file of it and the small files beside it:
// whoever names the index means the checkpoint that it belongs to.
//
// Links are followed: in a hub cache every file is a link to ../../blobs. This is
// why [os.Root], which refuses them, is not used; instead only plain names ever
// reach this type, so that an index cannot lead out of the folder by itself.
type folder struct {
	dir   string
	only  string // the one file of weights or index to show, "" for all
	place Place
}

func (d folder) Place() Place { return d.place }

func (d folder) Near() bool { return true }

func (d folder) List(context.Context) (out Listing, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return out, fmt.Errorf("list the folder: %w", plainError(err))
	}
	for _, e := range entries {
		n := e.Name()
		if !Beside(d.only, n) {
			continue
		}
		info, err := os.Stat(filepath.Join(d.dir, n))
		switch {
		case err != nil:
			out.Broken = append(out.Broken, n)
		case info.IsDir():
			out.Folders = append(out.Folders, n)
		case info.Mode().IsRegular(): // a pipe would block whoever opens it
			out.Files = append(out.Files, d.file(n, info.Size()))
		}
	}
	return out, nil
}

// small reports whether a name is that of a small file that describes a checkpoint.
func small(name string) bool {
	if strings.HasSuffix(name, IndexSuffix) || strings.HasPrefix(name, ".") {
		return false
	}
	switch filepath.Ext(name) {
	case ".json", ".jinja", ".model", ".txt", ".tiktoken":
		return true
	}
	return false
}

func (d folder) file(name string, size int64) File {
	f := File{name: name, size: size, held: true}
	if size > 0 && size <= pointerMax {
		if text, err := d.Read(context.Background(), name, pointerMax); err == nil {
			f.pointer, _ = ParsePointer(text)
		}
	}
	return f
}

func (d folder) Read(_ context.Context, name string, limit int64) ([]byte, error) {
	f, err := os.Open(filepath.Join(d.dir, name))
	if err != nil {
		return nil, plainError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, plainError(err)
	case int64(len(text)) > limit:
		return nil, ErrTooLarge
	}
	return text, nil
}

func (d folder) Open(_ context.Context, name string, _ int64) (File, ReaderAtCloser, error) {
	f, err := os.Open(filepath.Join(d.dir, name))
	if err != nil {
		return File{}, nil, plainError(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return File{}, nil, plainError(err)
	}
	return HeldFile(name, info.Size()), f, nil
}
