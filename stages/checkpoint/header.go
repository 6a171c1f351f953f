package checkpoint

import (
	"cmp"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unsafe"
)

// maxHeader is the largest header that readers accept, in bytes.
const maxHeader = 100_000_000

// maxHeaders bounds all headers of a checkpoint together, in bytes: a model of a
// trillion parameters in 200,000 tensors takes 30 million.
const maxHeaders = 160_000_000

// A Tensor is one entry of a shard's header. Begin and End are offsets into the
// part of the file that follows the header.
type Tensor struct {
	Name  string
	Shard string
	DType DType
	Shape []int64
	Begin int64
	End   int64
}

// Bytes returns how many bytes the tensor takes in its shard.
func (t Tensor) Bytes() int64 { return t.End - t.Begin }

// Header is what stands at the head of a shard. The zero Header holds nothing.
type Header struct {
	shard    string
	size     int64
	length   int64
	tensors  []Tensor
	problems problems
	gguf     *Metadata
}

// ReadHeader reads the header of a shard of the given size: its length, then its
// text, and never the weights. What is wrong is among the problems; tensors are
// kept as far as they could be understood.
func ReadHeader(shard string, r io.ReaderAt, size int64) Header {
	return readHeader(shard, r, size, func(int64) bool { return true })
}

// readHeader asks before it takes the memory of a header of so many bytes.
func readHeader(shard string, r io.ReaderAt, size int64, admit func(bytes int64) bool) Header {
	h := Header{shard: shard, size: size}
	if size < 8 {
		h.problems.add(FlawLength, "", "the file has %d bytes, a header length alone takes 8", size)
		return h
	}
	var prefix [8]byte
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		h.problems.add(FlawUnreadable, "", "%v", err)
		return h
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	switch {
	case n > maxHeader:
		h.problems.add(FlawLength, "", "the header claims %d bytes, the limit is %d", n, maxHeader)
		return h
	case n > uint64(size-8):
		h.problems.add(FlawLength, "", "the header claims %d bytes, the file has %d after the length", n, size-8)
		return h
	}
	h.length = int64(n)
	if !admit(int64(n)) {
		h.problems.add(FlawTooLarge, "", "its header has %d bytes, and all of them together more than %d: no sound checkpoint has so many", n, maxHeaders)
		return h
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil && (err != io.EOF || n > 0) {
		h.problems.add(FlawUnreadable, "", "%v", err)
		return h
	}
	h.parse(unsafe.String(unsafe.SliceData(text), len(text))) // nobody writes to it any more
	return h
}

// Shard returns the name of the file.
func (h Header) Shard() string { return h.shard }

// Size returns the size of the whole file.
func (h Header) Size() int64 { return h.size }

// Length returns the length of the header's text.
func (h Header) Length() int64 { return h.length }

// Tensors returns the tensors in the order of the header; the slice is shared and
// must not be changed.
func (h Header) Tensors() []Tensor { return h.tensors }

// Problems returns what is wrong with the header: the first of each kind, and how
// many there are.
func (h Header) Problems(flaws ...Flaw) (list []Problem, n int) { return h.problems.of(flaws) }

// Sound reports whether nothing is wrong with the header.
func (h Header) Sound() bool { return len(h.problems.list) == 0 }

// entryBytes is the length of a short entry with its name: one guess saves most of
// the growing, and a hostile header can ask for no more than its own size.
const entryBytes = 100

func (h *Header) parse(text string) {
	n := len(text)/entryBytes + 1
	p := headerParser{sc: scanner{s: text}, h: h, seen: newNameSet(n)}
	p.entry.sc, p.entry.numbers = &p.sc, make([]int64, 0, 3*n)
	h.tensors = make([]Tensor, 0, n)
	if err := p.sc.document(p.member); err != nil {
		h.problems.addError(err)
		h.tensors = nil // half a header would make the rest look lost
		return
	}
	h.tile()
}

type headerParser struct {
	sc    scanner
	h     *Header
	seen  *nameSet
	entry entryParser
}

func (p *headerParser) member(name string) error {
	if p.seen.add(name) {
		p.h.problems.add(FlawDuplicate, name, "the header has two entries of this name")
		return p.sc.skip(maxDepth)
	}
	if name == "__metadata__" {
		return p.metadata()
	}
	if p.sc.peek() != '{' {
		p.h.problems.add(FlawShape, name, "its entry is no object")
		return p.sc.skip(maxDepth)
	}
	e := &p.entry
	e.t, e.dtype, e.has, e.twice = Tensor{Name: name, Shard: p.h.shard}, "", [3]bool{}, false
	if !e.usual() {
		if err := e.object(); err != nil {
			return err
		}
	}
	e.finish(p.h)
	return nil
}

// metadata must map text to text; null and {} are legal.
func (p *headerParser) metadata() error {
	if p.sc.peek() != '{' {
		start := p.sc.i
		err := p.sc.skip(maxDepth)
		if err == nil && p.sc.s[start:p.sc.i] != "null" {
			p.h.problems.add(FlawMetadata, "__metadata__", "it is no object")
		}
		return err
	}
	return p.sc.object(func(key string) error {
		if p.sc.peek() != '"' {
			p.h.problems.add(FlawMetadata, "__metadata__", "the value of %q is no text", key)
		}
		return p.sc.skip(maxDepth)
	})
}

// entryParser reads {"dtype", "shape", "data_offsets"}; other keys are legal.
type entryParser struct {
	sc      *scanner
	t       Tensor
	dtype   string
	has     [3]bool
	twice   bool
	numbers []int64 // shared by all entries, so that a shape costs no allocation
}

// usual reads an entry as nearly all writers write it, without blanks and in one
// order; it reports whether it was one, and has read nothing where it was not.
func (e *entryParser) usual() bool {
	sc, room := *e.sc, len(e.numbers)
	if !sc.literally(`{"dtype":"`) {
		return false
	}
	end := strings.IndexByte(sc.s[sc.i:min(sc.i+16, len(sc.s))], '"')
	if end < 0 {
		return false
	}
	dtype := sc.s[sc.i : sc.i+end]
	sc.i += end
	if !sc.literally(`","shape":[`) {
		return false
	}
	dims := sc.numbers(e.numbers)
	if dims == nil || !sc.literally(`,"data_offsets":[`) {
		return false
	}
	both := sc.numbers(dims)
	if len(both) != len(dims)+2 || !sc.literally("}") {
		return false
	}
	e.dtype, e.has = dtype, [3]bool{true, true, true}
	e.t.Shape = dims[room:len(dims):len(dims)]
	e.t.Begin, e.t.End = both[len(dims)], both[len(dims)+1]
	e.numbers, *e.sc = dims, sc
	return true
}

// literally reads over the text if it comes next.
func (sc *scanner) literally(text string) bool {
	if !strings.HasPrefix(sc.s[sc.i:], text) {
		return false
	}
	sc.i += len(text)
	return true
}

// numbers reads whole numbers without blanks between them, at least one and of at most
// eighteen digits, up to the bracket that ends them, and appends them; nil when
// anything else comes.
func (sc *scanner) numbers(to []int64) []int64 {
	s, i := sc.s, sc.i
	for {
		var n int64
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			n = n*10 + int64(s[i]-'0')
			i++
		}
		if digits := i - start; i == len(s) || digits == 0 || digits > 18 || digits > 1 && s[start] == '0' {
			return nil
		}
		to = append(to, n)
		i++
		switch s[i-1] {
		case ']':
			sc.i = i
			return to
		case ',':
		default:
			return nil
		}
	}
}

// object is [scanner.object] without a function value: it runs for each tensor.
func (e *entryParser) object() error {
	if err := e.sc.want('{'); err != nil {
		return err
	}
	if e.sc.space(); e.sc.peek() == '}' {
		e.sc.i++
		return nil
	}
	for {
		key, err := e.sc.str()
		if err != nil {
			return err
		}
		if err := e.sc.want(':'); err != nil {
			return err
		}
		e.sc.space()
		if err := e.field(key); err != nil {
			return err
		}
		if e.sc.space(); e.sc.peek() != ',' {
			return e.sc.want('}')
		}
		e.sc.i++
	}
}

func (e *entryParser) field(key string) error {
	slot := 0
	switch key {
	case "dtype":
	case "shape":
		slot = 1
	case "data_offsets":
		slot = 2
	default:
		return e.sc.skip(maxDepth)
	}
	e.twice = e.twice || e.has[slot]
	e.has[slot] = true
	switch slot {
	case 0:
		s, err := e.sc.str()
		e.dtype = s
		return err
	case 1:
		var err error
		e.t.Shape, err = e.list()
		return err
	}
	at, room := e.sc.i, len(e.numbers)
	offsets, err := e.list()
	if err != nil {
		return err
	}
	if len(offsets) != 2 {
		return &syntaxError{FlawShape, at, "data_offsets must be two numbers"}
	}
	e.t.Begin, e.t.End = offsets[0], offsets[1]
	e.numbers = e.numbers[:room] // copied, unlike a shape
	return nil
}

// list reads whole numbers onto the end of those of the other entries.
func (e *entryParser) list() ([]int64, error) {
	if err := e.sc.want('['); err != nil {
		return nil, err
	}
	start := len(e.numbers)
	if e.sc.space(); e.sc.peek() == ']' {
		e.sc.i++
		return e.numbers[start:start:start], nil
	}
	for {
		e.sc.space()
		n, err := e.sc.uint()
		if err == nil && n > 1<<62 {
			err = &syntaxError{FlawShape, e.sc.i, "a number beyond any file"}
		}
		if err != nil {
			return nil, err
		}
		e.numbers = append(e.numbers, int64(n))
		if e.sc.space(); e.sc.peek() != ',' {
			return e.numbers[start:len(e.numbers):len(e.numbers)], e.sc.want(']')
		}
		e.sc.i++
	}
}

// finish judges the entry and keeps the tensor when it is complete.
func (e *entryParser) finish(h *Header) {
	name := e.t.Name
	if e.twice {
		h.problems.add(FlawDuplicate, name, "its entry has a key twice")
	}
	if e.has != [3]bool{true, true, true} {
		h.problems.add(FlawShape, name, "dtype, shape and data_offsets are required")
		return
	}
	known, width, ok := dtypeOf(e.dtype)
	e.t.DType = known
	switch want, fits := byteSize(e.t.Shape, width); {
	case !ok:
		h.problems.add(FlawDtype, name, "dtype %q is not one of the container", e.dtype)
		e.t.DType = DType(e.dtype)
	case e.t.End < e.t.Begin:
		h.problems.add(FlawSize, name, "it ends at %d, before its begin at %d", e.t.End, e.t.Begin)
	case !fits:
		h.problems.add(FlawSize, name, "%s %v is no whole, possible number of bytes", known, e.t.Shape)
	case want != e.t.Bytes():
		h.problems.add(FlawSize, name, "%s %v takes %d bytes, its offsets span %d", known, e.t.Shape, want, e.t.Bytes())
	}
	h.tensors = append(h.tensors, e.t)
}

// byteSize returns the bytes that a tensor of so many bits a value takes; ok is false when that overflows
// or does not end on a byte.
func byteSize(shape []int64, width uint64) (n int64, ok bool) {
	product := uint64(1)
	for _, s := range shape {
		hi, lo := bits.Mul64(product, uint64(s))
		if hi != 0 {
			return 0, false
		}
		product = lo
	}
	hi, lo := bits.Mul64(product, width)
	if hi != 0 || lo%8 != 0 {
		return 0, false
	}
	return int64(lo / 8), true
}

// tile checks that the tensors cover what follows the header exactly: in the
// order of their offsets each begins where the one before it ended.
func (h *Header) tile() {
	order := make([]*Tensor, len(h.tensors))
	for i := range order {
		order[i] = &h.tensors[i]
	}
	byOffset := func(a, b *Tensor) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End)) }
	if !slices.IsSortedFunc(order, byOffset) { // most writers sort
		slices.SortFunc(order, byOffset)
	}
	var end int64
	for _, t := range order {
		switch {
		case t.Begin > end:
			h.problems.add(FlawHole, t.Name, "bytes %d to %d before it belong to no tensor", end, t.Begin)
		case t.Begin < end:
			h.problems.add(FlawOverlap, t.Name, "it begins at %d, the tensor before it ends at %d", t.Begin, end)
		}
		end = max(end, t.End)
	}
	switch have := h.size - 8 - h.length; {
	case have < end:
		h.problems.add(FlawTruncated, "", "the file has %d bytes of weights, the header describes %d: %d are missing", have, end, end-have)
	case have > end:
		h.problems.add(FlawSurplus, "", "the file has %d bytes of weights, the header describes %d: %d are too many", have, end, have-end)
	}
}
