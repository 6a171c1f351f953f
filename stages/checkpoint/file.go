package checkpoint

import (
	"strconv"
	"strings"
)

// A File is one entry of the listing. Its size may be unknown, and it may be
// listed without being here: a hub's tree says that a file exists before anyone
// has fetched it.
type File struct {
	name    string
	size    int64 // -1: not known
	held    bool
	pointer Pointer
}

// ListedFile returns a file that is known to exist elsewhere and is not here;
// size is negative when it is not known.
func ListedFile(name string, size int64) File {
	return File{name: name, size: max(size, -1)}
}

// HeldFile returns a file whose bytes can be read; size is negative when it is not
// known before it is opened.
func HeldFile(name string, size int64) File {
	return File{name: name, size: max(size, -1), held: true}
}

// Name returns the file's name inside its folder.
func (f File) Name() string { return f.name }

// Size returns the size in bytes; ok is false when the listing does not tell. For
// a pointer it is the size of the pointer itself.
func (f File) Size() (n int64, ok bool) { return f.size, f.size >= 0 }

// Held reports whether the file's bytes are here to be read.
func (f File) Held() bool { return f.held }

// Pointer returns the Git LFS pointer that stands in the file's place.
func (f File) Pointer() (p Pointer, ok bool) { return f.pointer, f.pointer != Pointer{} }

// A Pointer is what a Git LFS pointer promises.
type Pointer struct {
	OID  string // "sha256:…"
	Size int64
}

// pointerMax is the size up to which a file is looked at as a pointer: real ones
// have at most 200 bytes, the format allows 1,024.
const pointerMax = 1024

const pointerMagic = "version https://git-lfs"

// ParsePointer reads a Git LFS pointer; ok is false when text is none.
func ParsePointer(text []byte) (p Pointer, ok bool) {
	if len(text) > pointerMax || !strings.HasPrefix(string(text), pointerMagic) {
		return Pointer{}, false
	}
	p.Size = -1
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "oid":
			p.OID = value
		case "size":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
				p.Size = n
			}
		}
	}
	return p, true
}

// PlainName reports whether a name stays inside its folder on every system. An
// index comes from a stranger: a shard called "../../etc/passwd" or "C:x" is
// never opened.
func PlainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 && !strings.ContainsAny(name, "/\\:\x00")
}

// Weights says which shards a checkpoint needs and how far they have landed.
type Weights struct {
	// Needed holds the shards that the index names, or, without an index, those
	// that are there.
	Needed []string
	// Landed are those whose content is here or listed in full.
	Landed []string
	// Pointers are those in whose place a Git LFS pointer stands.
	Pointers []string
	// Absent are those that are not there at all.
	Absent []string
}

// Presence is how much of the weights is there.
type Presence uint8

// The degrees of presence. None at all is a state, not a defect: metadata can be
// judged before the weights arrive.
const (
	NoWeights Presence = iota
	PartlyPresent
	Complete
)

var presenceNames = [...]string{"no weights", "partly present", "complete"}

// String returns the presence in a word or two.
func (p Presence) String() string { return presenceNames[p] }

// Presence returns how much of the weights is there.
func (w Weights) Presence() Presence {
	switch {
	case len(w.Landed) == 0:
		return NoWeights
	case len(w.Landed) < len(w.Needed):
		return PartlyPresent
	}
	return Complete
}

// beside begins the names of safetensors files that are no part of the model's
// own set of shards: adapters, and a second copy in the vendor's layout.
var beside = []string{"adapter_", "consolidated"}

func (c *contents) weigh() Weights {
	var w Weights
	if len(c.index.shards) > 0 {
		w.Needed = append(w.Needed, c.index.shards...)
	} else {
		for _, n := range c.order {
			if c.isWeights(n) && (c.Kind != Folder || !isBeside(n)) {
				w.Needed = append(w.Needed, n)
			}
		}
	}
	for _, n := range w.Needed {
		f, ok := c.files[n]
		_, pointer := f.Pointer()
		switch {
		case !ok:
			w.Absent = append(w.Absent, n)
		case pointer:
			w.Pointers = append(w.Pointers, n)
		default:
			w.Landed = append(w.Landed, n)
		}
	}
	return w
}

func isBeside(name string) bool {
	for _, p := range beside {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
