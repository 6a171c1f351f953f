package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// GGUF holds everything in one file, or in the numbered pieces of a split: typed
// metadata, the tokenizer's vocabulary, and the tensors. What is read here is what
// llama.cpp (gguf.cpp, gguf-py's constants.py, format versions 2 and 3) reads before
// it maps the weights.

const ggufMagic = "GGUF"

// Bounds of what a sound file holds; the largest real ones seen: 18 MB of metadata,
// 2,000 tensors, 60 keys, 262,144 tokens.
const (
	maxGGUFHeader  = 256 << 20
	maxGGUFTensors = 1 << 20
	maxGGUFKeys    = 1 << 16
	maxGGUFName    = 1 << 16
	// keptText and keptNumbers bound what is kept of one value.
	keptText    = 4096
	keptNumbers = 4096
)

// A ggmlType is how a tensor of a GGUF file is stored: blocks of so many values, each
// taking so many bytes.
type ggmlType struct {
	name          DType
	values, bytes int64
}

// ggmlTypes are the types by their number in the file (GGML_QUANT_SIZES of gguf-py);
// the numbers that are absent were withdrawn.
var ggmlTypes = map[uint32]ggmlType{
	0: {"F32", 1, 4}, 1: {"F16", 1, 2}, 2: {"Q4_0", 32, 18}, 3: {"Q4_1", 32, 20}, 6: {"Q5_0", 32, 22}, 7: {"Q5_1", 32, 24},
	8: {"Q8_0", 32, 34}, 9: {"Q8_1", 32, 40}, 10: {"Q2_K", 256, 84}, 11: {"Q3_K", 256, 110}, 12: {"Q4_K", 256, 144},
	13: {"Q5_K", 256, 176}, 14: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292}, 16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74},
	18: {"IQ3_XXS", 256, 98}, 19: {"IQ1_S", 256, 50}, 20: {"IQ4_NL", 32, 18}, 21: {"IQ3_S", 256, 110}, 22: {"IQ2_S", 256, 82},
	23: {"IQ4_XS", 256, 136}, 24: {"I8", 1, 1}, 25: {"I16", 1, 2}, 26: {"I32", 1, 4}, 27: {"I64", 1, 8}, 28: {"F64", 1, 8},
	29: {"IQ1_M", 256, 56}, 30: {"BF16", 1, 2}, 34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66}, 39: {"MXFP4", 32, 17}, 40: {"NVFP4", 64, 36},
	41: {"Q1_0", 128, 18},
}

// Metadata is what a GGUF file says about its model, by key.
type Metadata struct {
	version uint32
	values  map[string]ggufValue
}

// A ggufValue is one value: a text, a number, or an array of which small ones of
// numbers are kept.
type ggufValue struct {
	text    string
	number  float64
	numeric bool
	array   bool
	length  int64
	numbers []float64
}

// Version returns the version of the format.
func (m Metadata) Version() uint32 { return m.version }

// Has reports whether the key is there.
func (m Metadata) Has(key string) bool { _, ok := m.values[key]; return ok }

// Text returns a text, "" when there is none; long ones are cut.
func (m Metadata) Text(key string) string { return m.values[key].text }

// Number returns a number; ok is false when the key holds none.
func (m Metadata) Number(key string) (n float64, ok bool) {
	v := m.values[key]
	return v.number, v.numeric
}

// Count returns a whole number from 0 to below 2^31; ok is false when the key holds
// none.
func (m Metadata) Count(key string) (n int64, ok bool) {
	v := m.values[key]
	if !v.numeric || v.number < 0 || v.number >= maxCount || v.number != math.Trunc(v.number) {
		return 0, false
	}
	return int64(v.number), true
}

// Length returns the length of an array, -1 when the key holds none.
func (m Metadata) Length(key string) int64 {
	if v := m.values[key]; v.array {
		return v.length
	}
	return -1
}

// Numbers returns an array of numbers, such as one for each layer; nil when the key
// holds none or a long one. The slice is shared and must not be changed.
func (m Metadata) Numbers(key string) []float64 { return m.values[key].numbers }

// Metadata returns what a GGUF file says about its model; ok is false for a header
// of another format, or one that could not be read.
func (h Header) Metadata() (m Metadata, ok bool) {
	if h.gguf == nil {
		return Metadata{}, false
	}
	return *h.gguf, true
}

// ReadGGUF reads the metadata and the tensors' places of a GGUF file of the given
// size in bytes, and never the weights. What is wrong is among the problems.
func ReadGGUF(name string, r io.ReaderAt, size int64) Header {
	h := Header{shard: name, size: size}
	p := ggufParser{w: window{r: r, size: size}, h: &h, meta: Metadata{values: map[string]ggufValue{}}}
	if err := p.file(); err != nil {
		h.tensors = nil
		h.problems.addError(err)
	}
	return h
}

type ggufParser struct {
	w    window
	h    *Header
	meta Metadata
}

func (p *ggufParser) fail(flaw Flaw, format string, a ...any) error {
	return &syntaxError{flaw, int(min(p.w.pos, math.MaxInt)), fmt.Sprintf(format, a...)}
}

func (p *ggufParser) file() error {
	start, err := p.w.take(8)
	switch {
	case errors.Is(err, errWindowEnd):
		return p.fail(FlawLength, "the file has %d bytes, a GGUF header alone takes 24", p.w.size)
	case err != nil:
		return p.fail(FlawUnreadable, "%v", err)
	case string(start[:4]) != ggufMagic:
		return p.fail(FlawSyntax, "it begins with %q, not with GGUF", start[:4])
	}
	p.meta.version = binary.LittleEndian.Uint32(start[4:])
	switch v := p.meta.version; {
	case v&0xffff == 0 && v != 0:
		return p.fail(FlawSyntax, "a big-endian file: engines on this kind of machine refuse it")
	case v == 1:
		return p.fail(FlawSyntax, "GGUF version 1, which engines no longer read: convert it again")
	case v != 2 && v != 3:
		return p.fail(FlawSyntax, "GGUF version %d is not known", v)
	}
	tensors, err := p.count("tensors", maxGGUFTensors)
	if err != nil {
		return err
	}
	keys, err := p.count("keys", maxGGUFKeys)
	if err != nil {
		return err
	}
	for range keys {
		if err := p.pair(); err != nil {
			return err
		}
	}
	align := int64(32)
	if v, ok := p.meta.values["general.alignment"]; ok {
		n, whole := p.meta.Count("general.alignment")
		if !v.numeric || !whole || n < 8 || n&(n-1) != 0 || n > 1<<20 {
			return p.fail(FlawShape, "general.alignment is no power of two from 8 on")
		}
		align = n
	}
	if err := p.tensors(tensors, align); err != nil {
		return err
	}
	p.h.gguf = &p.meta
	p.place(align)
	return nil
}

func (p *ggufParser) count(what string, limit uint64) (uint64, error) {
	n, err := p.u64()
	if err == nil && n > limit {
		err = p.fail(FlawLength, "it claims %d %s, more than any model has", n, what)
	}
	return n, err
}

func (p *ggufParser) bytes(n int64) ([]byte, error) {
	b, err := p.w.take(n)
	switch {
	case errors.Is(err, errWindowEnd):
		return nil, p.fail(FlawLength, "the file ends inside its header")
	case errors.Is(err, errWindowLimit):
		return nil, p.fail(FlawLength, "the header is longer than %d bytes", int64(maxGGUFHeader))
	case err != nil:
		return nil, p.fail(FlawUnreadable, "%v", err)
	}
	return b, nil
}

func (p *ggufParser) u32() (uint32, error) {
	b, err := p.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (p *ggufParser) u64() (uint64, error) {
	b, err := p.bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text reads a string and returns at most keep bytes of it.
func (p *ggufParser) text(keep int64) (string, error) {
	n, err := p.u64()
	if err != nil {
		return "", err
	}
	if n > uint64(p.w.size) {
		return "", p.fail(FlawLength, "a text claims %d bytes, the file has %d", n, p.w.size)
	}
	kept := min(int64(n), keep)
	b, err := p.bytes(kept)
	if err != nil {
		return "", err
	}
	out := string(b)
	return out, p.skip(int64(n) - kept)
}

func (p *ggufParser) skip(n int64) error {
	if n < 0 || n > p.w.size-p.w.pos {
		return p.fail(FlawLength, "the file ends inside its header")
	}
	p.w.pos += n
	return nil
}

func (p *ggufParser) pair() error {
	key, err := p.text(maxGGUFName)
	if err != nil {
		return err
	}
	kind, err := p.u32()
	if err != nil {
		return err
	}
	v, err := p.value(kind)
	if err != nil {
		return err
	}
	if p.meta.Has(key) {
		p.h.problems.add(FlawDuplicate, cut(key), "the header has two keys of this name")
		return nil
	}
	p.meta.values[key] = v
	return nil
}

// cut bounds a name that is only shown.
func cut(s string) string { return s[:min(len(s), 200)] }

// widths are the bytes that a value of each type takes, 0 where it varies: u8, i8,
// u16, i16, u32, i32, f32, bool, text, array, u64, i64, f64.
var widths = [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

const ggufText, ggufArray = 8, 9

func (p *ggufParser) value(kind uint32) (ggufValue, error) {
	switch {
	case kind == ggufText:
		s, err := p.text(keptText)
		return ggufValue{text: s}, err
	case kind == ggufArray:
		return p.array()
	case kind >= uint32(len(widths)):
		return ggufValue{}, p.fail(FlawSyntax, "a value of the unknown type %d", kind)
	}
	b, err := p.bytes(widths[kind])
	if err != nil {
		return ggufValue{}, err
	}
	return ggufValue{number: ggufNumber(kind, b), numeric: true}, nil
}

func (p *ggufParser) array() (ggufValue, error) {
	kind, err := p.u32()
	if err != nil {
		return ggufValue{}, err
	}
	n, err := p.u64()
	if err != nil {
		return ggufValue{}, err
	}
	switch {
	case kind >= uint32(len(widths)) || kind == ggufArray: // engines refuse arrays of arrays
		return ggufValue{}, p.fail(FlawSyntax, "an array of the type %d", kind)
	case n > uint64(p.w.size)/uint64(max(widths[kind], 1)):
		return ggufValue{}, p.fail(FlawLength, "an array claims %d elements, the file has %d bytes", n, p.w.size)
	}
	v := ggufValue{array: true, length: int64(n)}
	switch {
	case kind == ggufText:
		for range n {
			if _, err := p.text(0); err != nil {
				return v, err
			}
		}
	case n > keptNumbers:
		return v, p.skip(int64(n) * widths[kind])
	default:
		for range n {
			b, err := p.bytes(widths[kind])
			if err != nil {
				return v, err
			}
			v.numbers = append(v.numbers, ggufNumber(kind, b))
		}
	}
	return v, nil
}

// ggufNumber returns a number of any type as a float, which holds every count exactly.
func ggufNumber(kind uint32, b []byte) float64 {
	le := binary.LittleEndian
	switch kind {
	case 0, 7:
		return float64(b[0])
	case 1:
		return float64(int8(b[0]))
	case 2:
		return float64(le.Uint16(b))
	case 3:
		return float64(int16(le.Uint16(b)))
	case 4:
		return float64(le.Uint32(b))
	case 5:
		return float64(int32(le.Uint32(b)))
	case 6:
		return float64(math.Float32frombits(le.Uint32(b)))
	case 10:
		return float64(le.Uint64(b))
	case 11:
		return float64(int64(le.Uint64(b)))
	}
	return math.Float64frombits(le.Uint64(b))
}

// maxDims is the number of dimensions that a tensor may have.
const maxDims = 4

func (p *ggufParser) tensors(n uint64, align int64) error {
	seen := map[string]bool{}
	for range n {
		t, err := p.tensor(align)
		if err != nil {
			return err
		}
		if seen[t.Name] {
			p.h.problems.add(FlawDuplicate, cut(t.Name), "the header has two tensors of this name")
			continue
		}
		seen[t.Name] = true
		p.h.tensors = append(p.h.tensors, t)
	}
	return nil
}

// tensor reads the place of one tensor. The file gives its fastest dimension first;
// here, as everywhere else, it comes last.
func (p *ggufParser) tensor(align int64) (Tensor, error) {
	t := Tensor{Shard: p.h.shard, Shape: []int64{}}
	var err error
	if t.Name, err = p.text(maxGGUFName); err != nil {
		return t, err
	}
	dims, err := p.u32()
	if err != nil {
		return t, err
	}
	if dims > maxDims {
		return t, p.fail(FlawShape, "%.200q has %d dimensions, the limit is %d", t.Name, dims, maxDims)
	}
	for range dims {
		d, err := p.u64()
		if err != nil {
			return t, err
		}
		if d > math.MaxInt64 {
			return t, p.fail(FlawShape, "%.200q has a dimension beyond any file", t.Name)
		}
		t.Shape = append(t.Shape, int64(d))
	}
	slices.Reverse(t.Shape)
	kind, err := p.u32()
	if err != nil {
		return t, err
	}
	begin, err := p.u64()
	if err != nil {
		return t, err
	}
	if begin > 1<<62 {
		return t, p.fail(FlawShape, "%.200q begins beyond any file", t.Name)
	}
	t.Begin, t.End = int64(begin), int64(begin)
	g, known := ggmlTypes[kind]
	if !known {
		t.DType = DType(fmt.Sprintf("type %d", kind))
		p.h.problems.add(FlawDtype, cut(t.Name), "tensor type %d is not one of the format", kind)
		return t, nil
	}
	t.DType = g.name
	n, ok := g.size(t.Shape)
	switch {
	case !ok:
		p.h.problems.add(FlawSize, cut(t.Name), "%s %v is no whole, possible number of blocks of %d", g.name, t.Shape, g.values)
	case begin%uint64(align) != 0:
		p.h.problems.add(FlawSize, cut(t.Name), "it begins at %d, which is no multiple of %d", begin, align)
	}
	t.End += n
	return t, nil
}

// size returns the bytes that a tensor takes; ok is false when a row is no whole
// number of blocks, or when it overflows.
func (g ggmlType) size(shape []int64) (n int64, ok bool) {
	if len(shape) > 0 && shape[len(shape)-1]%g.values != 0 {
		return 0, false
	}
	n = 1
	for _, s := range shape {
		if s != 0 && n > math.MaxInt64/512/s {
			return 0, false
		}
		n *= s
	}
	return n / g.values * g.bytes, true
}

// place checks that the tensors follow each other in the order of the file, each on
// the next multiple of the alignment, and that the file holds them all. Engines
// ignore what comes after the last.
func (p *ggufParser) place(align int64) {
	h := p.h
	data := (p.w.pos + align - 1) / align * align
	h.length = max(data-8, 0)
	var end int64
	for _, t := range h.tensors {
		switch want := (end + align - 1) / align * align; {
		case t.Begin > want:
			h.problems.add(FlawHole, cut(t.Name), "it begins at %d, the tensor before it ends at %d", t.Begin, end)
		case t.Begin < want:
			h.problems.add(FlawOverlap, cut(t.Name), "it begins at %d, the tensor before it ends at %d", t.Begin, end)
		}
		end = max(end, t.End)
	}
	if have := h.size - data; have < end {
		h.problems.add(FlawTruncated, "", "the file has %d bytes of weights, the header describes %d: %d are missing", max(have, 0), end, end-max(have, 0))
	}
}

// A window reads a file from its beginning on in pieces that grow with what was
// needed so far, so that a far file costs few round trips and few bytes too many.
type window struct {
	r     io.ReaderAt
	size  int64
	pos   int64
	base  int64
	buf   []byte
	taken int64
}

var (
	errWindowEnd   = errors.New("the file ends")
	errWindowLimit = errors.New("too long")
)

const windowPiece = 64 << 10

// take returns the next n bytes, valid until the next call.
func (w *window) take(n int64) ([]byte, error) {
	switch {
	case n > w.size-w.pos:
		return nil, errWindowEnd
	case w.taken > maxGGUFHeader:
		return nil, errWindowLimit
	}
	if w.pos < w.base || w.pos+n > w.base+int64(len(w.buf)) {
		if err := w.fill(n); err != nil {
			return nil, err
		}
	}
	at := w.pos - w.base
	w.pos += n
	return w.buf[at : at+n], nil
}

func (w *window) fill(n int64) error {
	var rest []byte
	if w.pos >= w.base && w.pos < w.base+int64(len(w.buf)) {
		rest = w.buf[w.pos-w.base:]
	}
	from := w.pos + int64(len(rest))
	more := min(max(n-int64(len(rest)), windowPiece, min(w.taken/16, 4<<20)), w.size-from)
	buf := make([]byte, int64(len(rest))+more)
	copy(buf, rest)
	if _, err := w.r.ReadAt(buf[len(rest):], from); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.base, w.buf = w.pos, buf
	w.taken += more
	return nil
}

func isGGUFName(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".gguf") }

var splitPiece = regexp.MustCompile(`(?i)^(.+)-\d{5}-of-(\d{5})\.gguf$`)

// splitOf returns what the pieces of one split have in common, "" for a whole file.
func splitOf(name string) string {
	if m := splitPiece.FindStringSubmatch(name); m != nil {
		return m[1] + "-of-" + m[2]
	}
	return ""
}

func sameSplit(a, b string) bool { s := splitOf(a); return s != "" && s == splitOf(b) }

// aside are GGUF files that are no language model of their own: the eyes of one, and
// the statistics that quantisers use.
var aside = regexp.MustCompile(`(?i)mmproj|imatrix`)

// recogniseGGUF finds the one model among the GGUF files, if there are any.
func (c *contents) recogniseGGUF() (found bool, err error) {
	models := map[string][]string{}
	var order []string
	for _, n := range c.order {
		if c.Kind != GGUFModel && (!isGGUFName(n) || aside.MatchString(n)) {
			continue
		}
		if c.Kind == GGUFModel && !isGGUFName(n) && n != c.Name {
			continue
		}
		key := splitOf(n)
		if key == "" {
			key = n
		}
		if models[key] == nil {
			order = append(order, key)
		}
		models[key] = append(models[key], n)
	}
	switch len(order) {
	case 0:
		return false, nil
	case 1:
		c.Kind, c.gguf = GGUFModel, models[order[0]]
		return true, nil
	}
	return false, fmt.Errorf("it holds %d GGUF models (%s …): name one of the files", len(order), models[order[0]][0])
}

// SplitPieces returns the names of all pieces of the split that a name belongs to,
// in order; nil for a whole file.
func SplitPieces(name string) []string {
	m := splitPiece.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[2]) // five digits
	var out []string
	for i := range min(n, maxPieces) {
		out = append(out, fmt.Sprintf("%s-%05d-of-%s%s", m[1], i+1, m[2], name[len(name)-len(".gguf"):]))
	}
	return out
}

// maxPieces bounds the pieces of a split that are asked for.
const maxPieces = 1000
