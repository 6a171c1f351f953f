package static

import (
	"slices"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// dims are the sizes that shapes follow from.
type dims struct {
	hidden, heads, kv, headDim, inter, vocab, experts int64
	vision                                            gjson.Result
}

// A family knows the shape of every tensor of some model types, so that the size
// of an unquantised checkpoint follows to the byte.
type family struct {
	types []string
	// shape returns the shape of the tensor of that name.
	shape func(d dims, name string) ([]int64, bool)
}

var families []*family

// addFamily adds a family to the list; each family's file calls it once.
func addFamily(f family) bool {
	families = append(families, &f)
	return true
}

// familyOf returns the family of a configuration and its sizes, nil when the
// model type has none or a size is not stated.
func familyOf(c checkpoint.Config) (dims, *family) {
	d := dims{vision: c.Get("vision_config")}
	var have [6]bool
	d.hidden, have[0] = c.Hidden()
	d.heads, have[1] = c.Heads()
	d.kv, have[2] = c.KVHeads()
	d.headDim, have[3] = c.HeadDim()
	d.inter, have[4] = c.Count("intermediate_size")
	d.vocab, have[5] = c.Vocab()
	d.experts, _ = c.Experts()
	if slices.Contains(have[:], false) {
		return d, nil
	}
	for _, f := range families {
		if slices.Contains(f.types, c.ModelType()) {
			return d, f
		}
	}
	return d, nil
}

// A sizing is what a family's formula says about the names of a checkpoint.
type sizing struct {
	params  int64 // values in tensors of the declared dtype
	buffers int64 // values in stored rotary frequencies, which stay 32 bits wide
	tables  int64 // embeddings and heads, whose rows may be padded
}

// bytes returns the size at a width of the weights.
func (s sizing) bytes(width int64) int64 { return s.params*width + s.buffers*4 }

// beyond is more values than any checkpoint has; arithmetic stays far from overflow.
const beyond = 1 << 50

// measure adds up the shapes of all names; unknown is a name that the family has
// no shape for, "" when it knows them all.
func (f *family) measure(d dims, names []string) (s sizing, unknown string) {
	for _, n := range names {
		shape, ok := f.shape(d, n)
		if !ok {
			return s, n
		}
		size := int64(1)
		for _, v := range shape {
			if v <= 0 || size > beyond/v {
				return s, n
			}
			size *= v
		}
		switch {
		case harmless.MatchString(n):
			s.buffers += size
		default:
			s.params += size
		}
		if isTable(n) {
			s.tables++
		}
		if s.params > beyond {
			return s, n
		}
	}
	return s, ""
}

func isTable(name string) bool {
	return name == "model.embed_tokens.weight" || name == "lm_head.weight"
}

// widths are the sizes of a value in bytes that plain checkpoints have.
var widths = []int64{2, 4, 1, 8}

// widthOf returns the bytes of a declared dtype, 0 when it says nothing.
func widthOf(dtype string) int64 {
	switch dtype {
	case "bfloat16", "float16", "half":
		return 2
	case "float32", "float":
		return 4
	case "float64", "double":
		return 8
	}
	return 0
}

// fit compares a stated size with the formula.
type fit struct {
	width   int64 // the width at which it is exact, 0 when there is none
	padding int64 // rows by which the tables are padded
}

// fitSize looks for the width at which the size is exact, tables padded to a
// multiple of 64 rows included, declared width first.
func fitSize(s sizing, d dims, total, declared int64) fit {
	order := append([]int64{declared}, widths...)
	for _, w := range order {
		if w > 0 && s.bytes(w) == total {
			return fit{width: w}
		}
	}
	for _, w := range order {
		if w == 0 || s.tables == 0 {
			continue
		}
		row := s.tables * d.hidden * w
		pad := (total - s.bytes(w)) / row
		if (total-s.bytes(w))%row == 0 && pad > 0 && pad < 1024 && (d.vocab+pad)%64 == 0 {
			return fit{width: w, padding: pad}
		}
	}
	return fit{}
}
