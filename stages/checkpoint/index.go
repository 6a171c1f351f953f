package checkpoint

import (
	"errors"
	"fmt"
	"math"

	"github.com/tidwall/gjson"
)

// An Entry says in which shard a tensor is.
type Entry struct {
	Tensor string
	Shard  string
}

// TotalSize is what an index says about the sum of its tensors' bytes.
type TotalSize struct {
	// Text is the value as written, "" when it is absent.
	Text string
	// Bytes is the value; -1 when it is absent or no whole number.
	Bytes int64
}

// Stated reports whether the index states any value.
func (t TotalSize) Stated() bool { return t.Text != "" }

// Index is the map from tensors to shards. The zero Index is absent.
type Index struct {
	file     string
	listed   bool
	read     bool
	entries  []Entry
	shards   []string
	total    TotalSize
	problems problems
}

// ParseIndex reads an index. It keeps the order of the entries, notices names
// that occur twice, and returns what is wrong as problems.
func ParseIndex(file string, text []byte) Index {
	x := Index{file: file, listed: true, total: TotalSize{Bytes: -1}}
	if _, ok := ParsePointer(text); ok {
		x.problems.add(FlawPointer, "", "a Git LFS pointer of %d bytes stands in its place", len(text))
		return x
	}
	p := indexParser{sc: scanner{s: string(text)}, x: &x, shards: map[string]string{}, seen: map[string]bool{}}
	if err := p.sc.document(p.member); err != nil {
		x.problems.addError(err)
		return x
	}
	if !p.seen["weight_map"] {
		x.problems.add(FlawShape, "weight_map", "the index has no weight_map")
	}
	x.read = len(x.problems.list) == 0
	return x
}

// maxTensors bounds the tensors of an index; the largest real one has 1.3 million.
const maxTensors = 2_000_000

type indexParser struct {
	sc     scanner
	x      *Index
	seen   map[string]bool   // members of the document
	shards map[string]string // interned, so that a shard's name is kept once
	names  map[string]bool
}

func (p *indexParser) member(key string) error {
	if p.seen[key] {
		p.x.problems.add(FlawDuplicate, key, "the index has two members of this name")
	}
	p.seen[key] = true
	switch key {
	case "metadata":
		return p.metadata()
	case "weight_map":
		return p.weightMap()
	}
	return p.sc.skip(maxDepth)
}

func (p *indexParser) metadata() error {
	start := p.sc.i
	if err := p.sc.skip(maxDepth); err != nil {
		return err
	}
	r := gjson.Get(p.sc.s[start:p.sc.i], "total_size")
	if !r.Exists() {
		return nil
	}
	p.x.total = TotalSize{Text: r.Raw, Bytes: -1}
	// A float is what some writers sum up to; a fraction or a sign is a mistake.
	if r.Type == gjson.Number && r.Num >= 0 && r.Num < math.MaxInt64 && r.Num == math.Trunc(r.Num) {
		p.x.total.Bytes = r.Int()
	}
	return nil
}

func (p *indexParser) weightMap() error {
	if p.sc.peek() != '{' {
		p.x.problems.add(FlawShape, "weight_map", "it is no object")
		return p.sc.skip(maxDepth)
	}
	// An entry takes about 100 bytes: one guess saves most of the growing.
	guess := (len(p.sc.s) - p.sc.i) / 100
	p.x.entries = make([]Entry, 0, guess)
	p.names = make(map[string]bool, guess)
	return p.sc.object(func(name string) error {
		if p.sc.peek() != '"' {
			p.x.problems.add(FlawShape, name, "its shard is no text")
			return p.sc.skip(maxDepth)
		}
		shard, err := p.sc.str()
		if err != nil {
			return err
		}
		if p.names[name] {
			p.x.problems.add(FlawDuplicate, name, "listed twice, the second time in %s", shard)
			return nil
		}
		if len(p.x.entries) == maxTensors {
			return &syntaxError{FlawTooLarge, p.sc.i, fmt.Sprintf("more than %d tensors: no sound checkpoint has so many", maxTensors)}
		}
		p.names[name] = true
		p.x.entries = append(p.x.entries, Entry{name, p.intern(shard)})
		return nil
	})
}

func (p *indexParser) intern(shard string) string {
	if s, ok := p.shards[shard]; ok {
		return s
	}
	p.shards[shard] = shard
	p.x.shards = append(p.x.shards, shard)
	return shard
}

func (c *contents) readIndex(docs *documents) Index {
	f, ok := c.files[c.indexFile]
	if !ok {
		return Index{total: TotalSize{Bytes: -1}}
	}
	x := Index{file: c.indexFile, listed: true, total: TotalSize{Bytes: -1}}
	t := docs.read[c.indexFile]
	switch {
	case !f.held:
		return x
	case errors.Is(t.err, ErrTooLarge):
		x.problems.add(FlawTooLarge, "", "%d bytes: %v", f.size, t.err)
		return x
	case t.err != nil:
		x.problems.add(FlawUnreadable, "", "%v", t.err)
		return x
	}
	return ParseIndex(c.indexFile, t.bytes)
}

// File returns the name of the index file, "" when there is none.
func (x Index) File() string { return x.file }

// Listed reports whether an index exists, here or elsewhere.
func (x Index) Listed() bool { return x.listed || x.file != "" }

// Readable reports whether the index is here and has no problem.
func (x Index) Readable() bool { return x.read }

// Entries returns the tensors and their shards in the order of the file; the
// slice is shared and must not be changed.
func (x Index) Entries() []Entry {
	if !x.read {
		return nil
	}
	return x.entries
}

// Shards returns the shards that the index names, in the order of their first
// mention, unsafe names included.
func (x Index) Shards() []string { return append([]string(nil), x.shards...) }

// TotalSize returns what the index says about the sum of the tensors' bytes.
func (x Index) TotalSize() TotalSize { return x.total }

// Problems returns what is wrong with the index: the first of each kind, and how
// many there are.
func (x Index) Problems(flaws ...Flaw) (list []Problem, n int) { return x.problems.of(flaws) }

func (x Index) names() []string {
	out := make([]string, 0, len(x.Entries()))
	for _, e := range x.Entries() {
		out = append(out, e.Tensor)
	}
	return out
}
