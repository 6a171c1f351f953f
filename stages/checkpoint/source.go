package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A Source is where a checkpoint's files come from: a folder of this machine, or a
// place that some package below this one knows how to read. Names that reach it
// have passed [PlainName].
type Source interface {
	// Place says what the source is.
	Place() Place
	// List returns what is there.
	List(ctx context.Context) (Listing, error)
	// Read returns a whole file, or [ErrTooLarge] when it is larger than limit bytes.
	Read(ctx context.Context, name string, limit int64) ([]byte, error)
	// Open returns random access to a file, and its size in bytes; the caller closes
	// it. ahead is how many bytes of the beginning will probably be read, 0 when
	// nothing is known: a far source asks for them at once. A file that is not there
	// after all gives an error that is [fs.ErrNotExist].
	Open(ctx context.Context, name string, ahead int64) (File, ReaderAtCloser, error)
	// Near reports whether the files lie on this machine: of a far one no byte is
	// read that is not needed, and many are asked for at the same time.
	Near() bool
}

// A Place says what a source is: its kind, the name of the checkpoint without
// anything that leads to it, and the revision, "" when it has none.
type Place struct {
	Kind     Kind
	Name     string
	Revision string
}

// A Listing is what a source shows: its files, its folders, and the names of links
// that lead nowhere.
type Listing struct {
	Files           []File
	Folders, Broken []string
}

// ReaderAtCloser is random access to one open file.
type ReaderAtCloser interface {
	io.ReaderAt
	io.Closer
}

// ErrTooLarge says that a file is larger than any sound one of its kind.
var ErrTooLarge = errors.New("larger than any sound file of its kind")

// maxShards bounds the files of weights whose heads are read; the largest real checkpoint
// seen has 413, one that keeps each tensor in a file of its own a few thousand.
const maxShards, maxFarShards = 100_000, 5_000

func (d *documents) shardLimit() int {
	if d.src.Near() {
		return maxShards
	}
	return maxFarShards
}

// Largest sizes at which a file is still read, in bytes. The largest real ones
// seen: config 24 kB, index 9 MB, tokenizer.json 34 MB.
const (
	maxDoc       = 4 << 20
	maxIndex     = 64 << 20
	maxTokenizer = 128 << 20
)

// Open reads the metadata of the checkpoint at path: a folder, an index file
// alone ("….safetensors.index.json"), a single ".safetensors" or a ".gguf" file.
// The error says in one line what is wrong and what to give instead.
func Open(path string) (Inventory, error) {
	src, err := locate(path)
	if err != nil {
		return Inventory{}, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	inv, err := From(context.Background(), src)
	if err != nil {
		return Inventory{}, fmt.Errorf("open checkpoint %s: %w", path, err)
	}
	return inv, nil
}

// From reads the metadata of the checkpoint that a source holds.
func From(ctx context.Context, src Source) (Inventory, error) {
	c := &contents{Place: src.Place()}
	if err := c.load(ctx, src); err != nil {
		return Inventory{}, err
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
func (c *contents) load(ctx context.Context, src Source) error {
	list, err := src.List(ctx)
	if err != nil {
		return err
	}
	c.files, c.folders, c.headers, c.samples = map[string]File{}, map[string]bool{}, map[string]Header{}, map[string]Sample{}
	for _, f := range list.Files {
		if PlainName(f.name) {
			c.files[f.name] = f
		}
	}
	for _, d := range list.Folders {
		c.folders[d] = true
	}
	c.broken = list.Broken
	c.remote = !src.Near()
	if n, ok := src.(noted); ok {
		c.commits = n.commits(ctx)
	}
	c.sortFiles()
	if err := c.recognise(); err != nil {
		return err
	}
	if c.Kind != GGUFModel {
		c.indexFile = c.pickIndex()
	}
	docs := &documents{ctx: ctx, src: src, files: c.files, read: map[string]text{}}
	if err := c.fetch(docs); err != nil {
		return err
	}
	if c.Kind == GGUFModel { // it describes itself
		c.index = Index{total: TotalSize{Bytes: -1}}
		c.fromGGUF()
	} else {
		c.config = Config{Doc: docs.document(ConfigFile, maxDoc)}
		c.gen = docs.document(GenerationFile, maxDoc)
		if !c.index.read {
			c.index = c.readIndex(docs)
		}
		c.decls = c.declarations(docs)
		c.tok = c.tokenizer(docs)
	}
	c.finish()
	return ctx.Err()
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
	has := func(is func(string) bool) bool { return slices.ContainsFunc(c.order, is) }
	if c.Kind != GGUFModel && has(func(n string) bool {
		return isShard(n) || strings.HasSuffix(n, IndexSuffix) || strings.HasSuffix(n, ".bin")
	}) {
		return nil
	}
	if found, err := c.recogniseGGUF(); found || err != nil {
		return err
	}
	if has(func(n string) bool { return n == ConfigFile }) {
		return nil
	}
	if len(c.broken) > 0 {
		return fmt.Errorf("its links lead nowhere (%s …): download the snapshot again", c.broken[0])
	}
	return fmt.Errorf("no config.json, index, .safetensors or .gguf file among its %d files: give the folder that holds them", len(c.order))
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

// A loaded is what one job of fetch brought.
type loaded struct {
	name    string
	absent  bool
	file    File
	header  Header
	samples map[string]Sample
	isDoc   bool
	text    text
}

// failure returns why a file could not be read, nil where it was, is not there, or is
// larger than any sound one.
func (l loaded) failure() error {
	if l.isDoc {
		if errors.Is(l.text.err, fs.ErrNotExist) || errors.Is(l.text.err, ErrTooLarge) {
			return nil
		}
		return l.text.err
	}
	if list, n := l.header.Problems(FlawUnreadable); n > 0 {
		return errors.New(list[0].Detail)
	}
	return nil
}

// fetch reads the small files and the header of each shard that is here, many at a
// time. Empty files and pointers have no header, which the listing tells already.
func (c *contents) fetch(docs *documents) error {
	var jobs []func() loaded
	for _, n := range append(slices.Clone(metadataFiles), c.indexFile) {
		if f, ok := c.files[n]; ok && f.held {
			jobs = append(jobs, func() loaded { return loaded{name: n, isDoc: true, text: docs.fetch(n, limitOf(n))} })
		}
	}
	var shards []File
	for _, n := range c.order {
		f := c.files[n]
		_, pointer := f.Pointer()
		if c.isWeights(n) && !pointer && f.held && f.size != 0 {
			shards = append(shards, f)
		}
	}
	if limit := docs.shardLimit(); len(shards) > limit {
		return fmt.Errorf("%d files of weights: more than the %d that are looked at", len(shards), limit)
	}
	head := func(f File, ahead int64) func() loaded {
		return func() loaded { return docs.header(f, c.Kind == GGUFModel, ahead) }
	}
	ahead := func(string) int64 { return 0 }
	if far := !docs.src.Near() && c.indexFile != "" && len(shards) > 2; far {
		// One header tells how long the others will be, so that one request each does.
		jobs = append(jobs, head(shards[0], 0))
		if err := c.run(docs, jobs); err != nil {
			return err
		}
		ahead, jobs, shards = c.guess(docs, shards[0].name), nil, shards[1:]
	}
	for _, f := range shards {
		jobs = append(jobs, head(f, ahead(f.name)))
	}
	return c.run(docs, jobs)
}

// guess returns how many bytes the head of a shard will take: the index tells the names
// that are in it, and the one header that was read what stands beside each name.
func (c *contents) guess(docs *documents, known string) func(shard string) int64 {
	h := c.headers[known]
	names, bytes := map[string]int64{}, map[string]int64{}
	c.index = c.readIndex(docs)
	for _, e := range c.index.Entries() {
		names[e.Shard]++
		bytes[e.Shard] += int64(len(e.Tensor))
	}
	n := names[known]
	if !h.Sound() || n == 0 || h.length <= bytes[known] {
		return func(string) int64 { return 0 }
	}
	beside := float64(h.length-bytes[known]) / float64(n)
	return func(shard string) int64 {
		if names[shard] == 0 {
			return 0
		}
		const margin = 1.01 // offsets grow by a digit here and there
		return 8 + int64(margin*(float64(bytes[shard])+beside*float64(names[shard])))
	}
}

// run does the jobs, many at a time, and files what they bring.
func (c *contents) run(docs *documents, jobs []func() loaded) error {
	out := make([]loaded, len(jobs))
	var group errgroup.Group
	group.SetLimit(docs.atOnce())
	for i, job := range jobs {
		group.Go(func() error { out[i] = job(); return docs.ctx.Err() })
	}
	err := group.Wait()
	for _, l := range out {
		// What a network does to a file says nothing about the checkpoint.
		if failed := l.failure(); err == nil && failed != nil && !docs.src.Near() {
			err = fmt.Errorf("read %s: %w", l.name, failed)
		}
		switch {
		case l.isDoc:
			docs.read[l.name] = l.text
		case l.absent:
			delete(c.files, l.name)
		case l.name != "":
			c.files[l.name] = l.file
			if _, pointer := l.file.Pointer(); !pointer && l.file.size != 0 {
				c.headers[l.name] = l.header
				maps.Copy(c.samples, l.samples)
			}
		}
	}
	c.sortFiles()
	return err
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
