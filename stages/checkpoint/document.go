package checkpoint

import (
	"errors"

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

// document reads a document from the source.
func (c *contents) document(src source, name string, limit int64) Doc {
	f, ok := c.files[name]
	if !ok {
		return Doc{name: name}
	}
	d := Doc{name: name, listed: true}
	if !f.held {
		return d
	}
	text, err := src.read(name, limit)
	switch {
	case errors.Is(err, errTooLarge):
		d.problems.add(FlawTooLarge, "", "%d bytes: %v", f.size, err)
		return d
	case err != nil:
		d.problems.add(FlawUnreadable, "", "%v", err)
		return d
	}
	return ParseDoc(name, text)
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
