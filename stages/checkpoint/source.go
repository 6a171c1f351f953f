package checkpoint

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A source is where a checkpoint's files come from. Names that reach it have
// passed [PlainName].
type source interface {
	// list returns the files, the sub-folders, and the links that lead nowhere.
	list() (files []File, folders, broken []string, err error)
	// read returns a whole file, or an error when it is larger than limit.
	read(name string, limit int64) ([]byte, error)
	// open returns random access to a file; the caller closes it.
	open(name string) (readerAtCloser, int64, error)
}

type readerAtCloser interface {
	io.ReaderAt
	io.Closer
}

// Largest sizes at which a file is still read, in bytes. The largest real ones
// seen: config 24 kB, index 9 MB, tokenizer.json 34 MB.
const (
	maxDoc       = 16 << 20
	maxIndex     = 256 << 20
	maxTokenizer = 128 << 20
)

// Open reads the metadata of the checkpoint at path: a folder, an index file
// alone ("….safetensors.index.json") or a single ".safetensors" file. The error
// says in one line what is wrong and what to give instead.
func Open(path string) (Inventory, error) {
	c, src, err := locate(path)
	if err != nil {
		return Inventory{}, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	if err := c.load(src); err != nil {
		return Inventory{}, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	return Inventory{c: c}, nil
}

// WithListed returns the inventory of a place whose listing shows further files
// that are not here, such as the tree of a hub repository of which only the small
// files were fetched. Files that are here already stay as they are.
func (inv Inventory) WithListed(files ...File) Inventory {
	old := inv.get()
	c := *old
	c.files = make(map[string]File, len(old.files)+len(files))
	for n, f := range old.files {
		c.files[n] = f
	}
	for _, f := range files {
		if _, ok := c.files[f.name]; !ok && PlainName(f.name) {
			c.files[f.name] = f
		}
	}
	c.sortFiles()
	if c.indexFile == "" {
		c.indexFile = c.pickIndex()
		c.index.file = c.indexFile
	}
	c.tok.files = c.tokenizerFiles()
	c.finish()
	return Inventory{c: &c, serving: inv.serving}
}

func (c *contents) sortFiles() {
	c.order = c.order[:0:0]
	for n := range c.files {
		c.order = append(c.order, n)
	}
	slices.Sort(c.order)
}

// load reads everything that is small.
func (c *contents) load(src source) error {
	files, folders, broken, err := src.list()
	if err != nil {
		return err
	}
	c.files, c.folders, c.headers = map[string]File{}, map[string]bool{}, map[string]Header{}
	for _, f := range files {
		c.files[f.name] = f
	}
	for _, d := range folders {
		c.folders[d] = true
	}
	c.broken = broken
	c.sortFiles()
	if err := c.recognise(); err != nil {
		return err
	}
	c.config = Config{Doc: c.document(src, ConfigFile, maxDoc)}
	c.gen = c.document(src, GenerationFile, maxDoc)
	c.indexFile = c.pickIndex()
	c.index = c.readIndex(src)
	c.readHeaders(src)
	c.decls = c.declarations(src)
	c.tok = c.tokenizer(src)
	c.finish()
	return nil
}

// recognise refuses a folder that holds no part of a checkpoint.
func (c *contents) recognise() error {
	const want = "give the folder that holds config.json and the shards"
	switch {
	case c.folders["snapshots"] && c.folders["blobs"]:
		return fmt.Errorf("a hub cache: give one of the folders below its snapshots")
	case len(c.order) == 0 && len(c.broken) == 0 && len(c.folders) > 0:
		return fmt.Errorf("it holds only folders: %s", want)
	case len(c.order) == 0 && len(c.broken) == 0:
		return fmt.Errorf("the folder is empty: %s", want)
	}
	gguf := ""
	for _, n := range c.order {
		switch {
		case n == ConfigFile, isShard(n), strings.HasSuffix(n, IndexSuffix):
			return nil
		case strings.HasSuffix(strings.ToLower(n), ".gguf"):
			gguf = n
		}
	}
	if gguf != "" {
		return fmt.Errorf("it holds only %s: %w", gguf, errGGUF)
	}
	if len(c.broken) > 0 {
		return fmt.Errorf("its links lead nowhere (%s …): download the snapshot again", c.broken[0])
	}
	return fmt.Errorf("no config.json, index or .safetensors file among its %d files: give the folder that holds them", len(c.order))
}

// pickIndex returns the name of the index file: the usual one, else the first.
func (c *contents) pickIndex() string {
	if _, ok := c.files[DefaultIndex]; ok {
		return DefaultIndex
	}
	for _, n := range c.order {
		if strings.HasSuffix(n, IndexSuffix) {
			return n
		}
	}
	return ""
}

// readHeaders reads the header of each shard that is here. Empty files and
// pointers have none, which the listing tells already.
func (c *contents) readHeaders(src source) {
	for _, n := range c.order {
		f := c.files[n]
		_, pointer := f.Pointer()
		if !isShard(n) || pointer || !f.held || f.size == 0 {
			continue
		}
		r, size, err := src.open(n)
		if err != nil {
			h := Header{shard: n, size: f.size}
			h.problems.add(FlawUnreadable, "", "%v", err)
			c.headers[n] = h
			continue
		}
		c.headers[n] = ReadHeader(n, r, size)
		_ = r.Close() // read only: nothing is lost
	}
}

var (
	cacheRepo = regexp.MustCompile(`^models--(?:.+--)?(.+)$`)
	commitHex = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// placeOf returns the name and the revision that an absolute path tells. In a
// hub cache the folder is …/models--org--name/snapshots/<commit>.
func placeOf(dir string) (name, revision string) {
	base, parent := filepath.Base(dir), filepath.Dir(dir)
	if commitHex.MatchString(base) && filepath.Base(parent) == "snapshots" {
		if m := cacheRepo.FindStringSubmatch(filepath.Base(filepath.Dir(parent))); m != nil {
			return m[1], base
		}
	}
	return cmp.Or(base, "checkpoint"), ""
}
