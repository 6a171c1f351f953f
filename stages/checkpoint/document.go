package checkpoint

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"
)

// A Doc is a small JSON document: absent, or broken in some way, or readable. The
// zero Doc is absent. Its accessors find nothing in a document that is not
// readable.
type Doc struct {
	name     string
	text     string
	listed   bool // the listing shows it, here or not
	problems problems
}

// ParseDoc reads a JSON document of the given file name.
func ParseDoc(name string, text []byte) Doc {
	d := Doc{name: name, listed: true}
	if _, ok := ParsePointer(text); ok {
		d.problems.add(FlawPointer, "", "a Git LFS pointer of %d bytes stands in its place", len(text))
		return d
	}
	sc := scanner{s: string(text), python: true}
	if err := sc.document(func(string) error { return sc.skip(maxDepth) }); err != nil {
		d.problems.addError(err)
		return d
	}
	d.text = sc.s
	return d
}

// metadataFiles are the small files that say what a checkpoint is; they are read
// at the same time as the headers. Others are read when they are asked for.
var metadataFiles = []string{
	ConfigFile, GenerationFile, tokenizerConfig, specialTokensMap, "added_tokens.json",
	"hf_quant_config.json", "quantize_config.json", "quant_config.json", "quantization_config.json",
	"quant_model_description.json", "quanto_qmap.json",
}

// limitOf returns the size in bytes up to which a small file is read.
func limitOf(name string) int64 {
	switch {
	case strings.HasSuffix(name, IndexSuffix):
		return maxIndex
	case name == tokenizerConfig:
		return maxTokenizer
	}
	return maxDoc
}

// documents reads small files of a source, each once.
type documents struct {
	ctx   context.Context
	src   Source
	files map[string]File
	read  map[string]text

	headers atomic.Int64 // the bytes of the headers so far
}

// A text is what reading a file gave.
type text struct {
	bytes []byte
	err   error
}

// far is how many files of a far source are read at the same time: enough that the
// time is that of a few round trips, few enough for a polite client.
const far = 16

func (d *documents) atOnce() int {
	if d.src.Near() {
		return runtime.GOMAXPROCS(0)
	}
	return far
}

func (d *documents) fetch(name string, limit int64) text {
	b, err := d.src.Read(d.ctx, name, limit)
	return text{b, err}
}

// document returns the document of that name.
func (d *documents) document(name string, limit int64) Doc {
	f, ok := d.files[name]
	if !ok {
		return Doc{name: name}
	}
	doc := Doc{name: name, listed: true}
	if !f.held {
		return doc
	}
	t, ok := d.read[name]
	if !ok {
		t = d.fetch(name, limit)
		d.read[name] = t
	}
	switch {
	case errors.Is(t.err, fs.ErrNotExist):
		return Doc{name: name}
	case errors.Is(t.err, ErrTooLarge):
		doc.problems.add(FlawTooLarge, "", "%v", t.err)
		return doc
	case t.err != nil:
		doc.problems.add(FlawUnreadable, "", "%v", t.err)
		return doc
	}
	return ParseDoc(name, t.bytes)
}

// header reads the header of one file of weights, of which ahead bytes are guessed.
// Opening it may tell the size that
// the listing did not, and that a pointer stands in its place.
func (d *documents) header(listed File, gguf bool, ahead int64) loaded {
	f, r, err := d.src.Open(d.ctx, listed.name, ahead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return loaded{name: listed.name, absent: true}
	case err != nil:
		h := Header{shard: listed.name, size: listed.size}
		h.problems.add(FlawUnreadable, "", "%v", err)
		return loaded{name: listed.name, file: listed, header: h}
	}
	defer r.Close()
	out := loaded{name: listed.name, file: f}
	if f.size > 0 && f.size <= pointerMax && f.pointer == (Pointer{}) {
		start := make([]byte, f.size)
		if _, err := r.ReadAt(start, 0); err == nil || errors.Is(err, io.EOF) {
			out.file.pointer, _ = ParsePointer(start)
		}
	}
	if _, pointer := out.file.Pointer(); pointer || f.size == 0 {
		return out
	}
	if gguf {
		out.header = ReadGGUF(f.name, r, f.size)
	} else {
		out.header = readHeader(f.name, r, f.size, func(n int64) bool { return d.headers.Add(n) <= maxHeaders })
		if d.src.Near() {
			out.samples = sample(r, out.header)
		}
	}
	return out
}

// Name returns the document's file name.
func (d Doc) Name() string { return d.name }

// Listed reports whether the file exists, here or elsewhere.
func (d Doc) Listed() bool { return d.listed }

// Readable reports whether the document is here and sound.
func (d Doc) Readable() bool { return d.text != "" }

// Problem returns what makes the document unreadable; ok is false when nothing does.
func (d Doc) Problem() (p Problem, ok bool) {
	if len(d.problems.list) == 0 {
		return Problem{}, false
	}
	return d.problems.list[0], true
}

// Get returns the value at a dotted path.
func (d Doc) Get(path string) gjson.Result { return gjson.Get(d.text, path) }

// IDs returns the token ids at a path, which holds one number or a list of them.
func (d Doc) IDs(path string) []int64 {
	r := d.Get(path)
	switch {
	case r.Type == gjson.Number:
		return []int64{r.Int()}
	case r.IsArray():
		var out []int64
		for _, e := range r.Array() {
			if e.Type == gjson.Number {
				out = append(out, e.Int())
			}
		}
		return out
	}
	return nil
}
