package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var errGGUF = errors.New("GGUF is not supported yet: give a folder, index or file of safetensors")

const accepted = "give a checkpoint folder, a *.safetensors.index.json or a *.safetensors file"

// locate finds out what stands at path and which source reads it.
func locate(path string) (*contents, source, error) {
	if strings.Contains(path, "://") {
		return nil, nil, fmt.Errorf("a URL is not supported yet: %s on this machine", accepted)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, plainError(err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("no such file or folder: %s", accepted)
	case err != nil:
		return nil, nil, plainError(err)
	}
	if info.IsDir() {
		c := &contents{kind: Folder}
		c.name, c.revision = placeOf(abs)
		return c, folder{dir: abs}, nil
	}
	base := filepath.Base(abs)
	c := &contents{name: base}
	_, c.revision = placeOf(filepath.Dir(abs))
	switch {
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("not a regular file: %s", accepted)
	case strings.HasSuffix(base, IndexSuffix):
		c.kind = IndexOnly
	case isShard(base):
		c.kind = SingleShard
	case isGGUF(abs):
		return nil, nil, errGGUF
	default:
		return nil, nil, fmt.Errorf("neither an index nor a safetensors file: %s", accepted)
	}
	return c, folder{dir: filepath.Dir(abs), only: base}, nil
}

func isGGUF(path string) bool {
	if strings.HasSuffix(strings.ToLower(path), ".gguf") {
		return true
	}
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
	dir  string
	only string // the one file of weights or index to show, "" for all
}

func (d folder) list() (files []File, folders, broken []string, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list the folder: %w", plainError(err))
	}
	for _, e := range entries {
		n := e.Name()
		if d.only != "" && n != d.only && !small(n) {
			continue
		}
		info, err := os.Stat(filepath.Join(d.dir, n))
		switch {
		case err != nil:
			broken = append(broken, n)
		case info.IsDir():
			folders = append(folders, n)
		case info.Mode().IsRegular(): // a pipe would block whoever opens it
			files = append(files, d.file(n, info.Size()))
		}
	}
	return files, folders, broken, nil
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
		if text, err := d.read(name, pointerMax); err == nil {
			f.pointer, _ = ParsePointer(text)
		}
	}
	return f
}

func (d folder) read(name string, limit int64) ([]byte, error) {
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
		return nil, errTooLarge
	}
	return text, nil
}

func (d folder) open(name string) (readerAtCloser, int64, error) {
	f, err := os.Open(filepath.Join(d.dir, name))
	if err != nil {
		return nil, 0, plainError(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, plainError(err)
	}
	return f, info.Size(), nil
}

var errTooLarge = errors.New("larger than any sound file of its kind")
