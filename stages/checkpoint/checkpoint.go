// Package checkpoint says what a checkpoint is before anything loads it: its
// files, its configuration, the index of its tensors, the headers of its shards,
// its tokenizer and what it declares about its quantisation.
//
// Only small files and shard headers are read, never weights, so a folder that
// has no shard yet is as good a subject as a complete one. What is wrong with a
// file is a value ([Problem]), not an error: the checks of stage 0 report it. An
// error means that there is no checkpoint to look at.
//
// A source of files implements the small interface [Source], in one file; nothing
// else changes when one is added. The local folder is here, those that are reached
// over a network are in the package remote.
package checkpoint

import (
	"slices"
	"strings"
	"sync"
)

// Names of the files that a checkpoint folder may hold.
const (
	ConfigFile      = "config.json"
	GenerationFile  = "generation_config.json"
	IndexSuffix     = ".safetensors.index.json"
	ShardSuffix     = ".safetensors"
	DefaultIndex    = "model.safetensors.index.json"
	DefaultShard    = "model.safetensors"
	tokenizerConfig = "tokenizer_config.json"
)

// Kind says what a checkpoint was opened from.
type Kind uint8

// The kinds of source. Only a folder can tell that a file is missing.
const (
	Folder Kind = iota
	IndexOnly
	SingleShard
	GGUFModel
)

var kindNames = [...]string{"folder", "index file", "single shard", "GGUF model"}

// String returns the kind in a word or two.
func (k Kind) String() string { return kindNames[k] }

// An Inventory is what could be learnt about one checkpoint. It is immutable and
// safe for concurrent use; [Open] makes one, the zero Inventory holds nothing.
type Inventory struct {
	c       *contents
	serving bool
}

// contents is the part that all copies of an inventory share.
type contents struct {
	Place
	files     map[string]File
	order     []string
	folders   map[string]bool
	broken    []string
	remote    bool
	commits   map[string]string
	config    Config
	gen       Doc
	indexFile string
	index     Index
	headers   map[string]Header
	samples   map[string]Sample
	gguf      []string // the files of a GGUF model, split or whole
	weights   Weights
	decls     []Declaration
	tok       Tokenizer
	tensors   map[string]*Tensor
	names     []string
	layout    func() *layout
	derived   *sync.Map // of func() any, see Derive
	print     func() string
}

// empty stands behind the zero Inventory, so that accessors need no nil checks.
var empty = sync.OnceValue(func() *contents {
	c := &contents{files: map[string]File{}, folders: map[string]bool{}, headers: map[string]Header{}}
	c.finish()
	return c
})

func (inv Inventory) get() *contents {
	if inv.c == nil {
		return empty()
	}
	return inv.c
}

// Kind returns what the checkpoint was opened from.
func (inv Inventory) Kind() Kind { return inv.get().Kind }

// Name returns the base name of the checkpoint, without the folders above it: a
// path may hold a user's name. In a hub cache it is the repository's name.
func (inv Inventory) Name() string { return inv.get().Name }

// Revision returns the commit that the files were resolved at, where the place
// tells (the snapshot folder of a hub cache), and "" otherwise.
func (inv Inventory) Revision() string { return inv.get().Revision }

// ForServing returns the inventory with the question "is it ready to serve
// chat?": shards that have not landed and an absent chat template then count.
func (inv Inventory) ForServing() Inventory { inv.serving = true; return inv }

// Remote reports whether the checkpoint lies on another machine: weights that are not
// there have not failed to land, they are missing.
func (inv Inventory) Remote() bool { return inv.get().remote }

// Serving reports whether the question is about serving, see [Inventory.ForServing].
func (inv Inventory) Serving() bool { return inv.serving }

// Files returns the files of the listing in the order of their names.
func (inv Inventory) Files() []File {
	c := inv.get()
	out := make([]File, 0, len(c.order))
	for _, n := range c.order {
		out = append(out, c.files[n])
	}
	return out
}

// File returns the file of that name.
func (inv Inventory) File(name string) (File, bool) {
	f, ok := inv.get().files[name]
	return f, ok
}

// HasFolder reports whether the listing shows a folder of that name.
func (inv Inventory) HasFolder(name string) bool { return inv.get().folders[name] }

// Broken returns the names of links whose target cannot be read.
func (inv Inventory) Broken() []string { return append([]string(nil), inv.get().broken...) }

// Config returns config.json.
func (inv Inventory) Config() Config { return inv.get().config }

// Generation returns generation_config.json.
func (inv Inventory) Generation() Doc { return inv.get().gen }

// Index returns the index of the tensors.
func (inv Inventory) Index() Index { return inv.get().index }

// Weights says which shards are needed and which of them are here.
func (inv Inventory) Weights() Weights { return inv.get().weights }

// Headers returns the headers that were read, in the order of their file names.
func (inv Inventory) Headers() []Header {
	c := inv.get()
	var out []Header
	for _, n := range c.order {
		if h, ok := c.headers[n]; ok {
			out = append(out, h)
		}
	}
	return out
}

// Header returns the header of one shard.
func (inv Inventory) Header(shard string) (Header, bool) {
	h, ok := inv.get().headers[shard]
	return h, ok
}

// Tokenizer returns what the tokenizer's files say.
func (inv Inventory) Tokenizer() Tokenizer { return inv.get().tok }

// Declarations returns what the checkpoint declares about its quantisation, the
// one that engines take first first.
func (inv Inventory) Declarations() []Declaration {
	return append([]Declaration(nil), inv.get().decls...)
}

// Names returns the names of the tensors: those of the index, else those of the
// headers. The slice is shared and must not be changed. It is empty when neither
// is here.
func (inv Inventory) Names() []string { return inv.get().names }

// Tensor returns the tensor as its shard's header describes it; ok is false when
// that header is not here or lacks it.
func (inv Inventory) Tensor(name string) (Tensor, bool) {
	t, ok := inv.get().tensors[name]
	if !ok {
		return Tensor{}, false
	}
	return *t, true
}

// Modules returns the parts that own tensors, in the order in which their first
// tensor is named. The slice is shared and must not be changed.
func (inv Inventory) Modules() []Module { return inv.get().layout().modules }

// Stacks returns the numbered stacks of layers, largest first. The slice is
// shared and must not be changed.
func (inv Inventory) Stacks() []*Stack { return inv.get().layout().stacks }

// Derive returns what of makes of an inventory. It is made once for all who share the
// inventory and give the same key, and must not be changed.
func Derive[T any](inv Inventory, key any, of func(Inventory) T) T {
	f, _ := inv.get().derived.LoadOrStore(key, sync.OnceValue(func() any { return of(inv) }))
	return f.(func() any)().(T)
}

// Fingerprint identifies the checkpoint: a SHA-256 over config.json, the index,
// and names, dtypes and shapes of all headers that are here. It does not see
// values: two fine-tunes of one model whose weights differ only in value share it
// unless something in their configuration differs.
func (inv Inventory) Fingerprint() string { return inv.get().print() }

// finish derives what follows from the files that were read.
func (c *contents) finish() {
	c.weights = c.weigh()
	c.names = c.index.names()
	fromHeaders := len(c.names) == 0
	n := 0
	for _, h := range c.headers {
		n += len(h.tensors)
	}
	c.tensors = make(map[string]*Tensor, n)
	for _, name := range c.order {
		list := c.headers[name].tensors
		for i := range list {
			t := &list[i]
			if _, ok := c.tensors[t.Name]; !ok {
				c.tensors[t.Name] = t
				if fromHeaders {
					c.names = append(c.names, t.Name)
				}
			}
		}
	}
	c.derived = &sync.Map{}
	c.layout = sync.OnceValue(func() *layout { return newLayout(c.names) })
	c.print = sync.OnceValue(c.fingerprint)
}

// isWeights reports whether a file holds weights of this checkpoint's own format.
func (c *contents) isWeights(name string) bool {
	if c.Kind == GGUFModel {
		return slices.Contains(c.gguf, name)
	}
	return isShard(name)
}

// isShard reports whether a file name is that of a shard of weights.
func isShard(name string) bool { return strings.HasSuffix(name, ShardSuffix) }
