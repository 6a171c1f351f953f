package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"infbench/stages/checkpoint"
)

// shardOf returns a shard with the header and n bytes of weights.
func shardOf(header string, n int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, n)...)
}

func TestHeader(t *testing.T) {
	t.Parallel()
	const a = `"a": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]}`
	for _, c := range []struct {
		what, header string
		size         int
		want         checkpoint.Flaw
	}{
		{"sound", `{` + a + `}`, 8, checkpoint.FlawNone},
		{"blanks around", ` {` + a + `}   `, 8, checkpoint.FlawNone},
		{"nothing in it", `{}`, 0, checkpoint.FlawNone},
		{"empty metadata", `{"__metadata__": {}, ` + a + `}`, 8, checkpoint.FlawNone},
		{"a scalar", `{"s": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}`, 4, checkpoint.FlawNone},
		{"no values", `{"z": {"dtype": "F32", "shape": [0, 7], "data_offsets": [0, 0]}}`, 0, checkpoint.FlawNone},
		{"two values in a byte", `{"f": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}`, 1, checkpoint.FlawNone},
		{"half a byte", `{"f": {"dtype": "F4", "shape": [3], "data_offsets": [0, 2]}}`, 2, checkpoint.FlawSize},
		{"one byte short", `{` + a + `}`, 7, checkpoint.FlawTruncated},
		{"one byte more", `{` + a + `}`, 9, checkpoint.FlawSurplus},
		{"a list", `[]`, 0, checkpoint.FlawShape},
		{"an entry that is a number", `{"a": 1}`, 0, checkpoint.FlawShape},
		{"a negative offset", `{"a": {"dtype": "U8", "shape": [1], "data_offsets": [-1, 0]}}`, 0, checkpoint.FlawShape},
		{"an offset beyond 64 bits", `{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 99999999999999999999]}}`, 0, checkpoint.FlawShape},
		{"three offsets", `{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1, 2]}}`, 1, checkpoint.FlawShape},
		{"a key twice", `{"a": {"dtype": "U8", "dtype": "I8", "shape": [1], "data_offsets": [0, 1]}}`, 1, checkpoint.FlawDuplicate},
		{"metadata that is a list", `{"__metadata__": []}`, 0, checkpoint.FlawMetadata},
	} {
		data := shardOf(c.header, c.size)
		h := checkpoint.ReadHeader("x.safetensors", bytes.NewReader(data), int64(len(data)))
		if c.want == checkpoint.FlawNone {
			if !h.Sound() {
				t.Errorf("%s: not sound", c.what)
			}
			continue
		}
		if _, n := h.Problems(c.want); n == 0 || h.Sound() {
			t.Errorf("%s: flaw %d is not noticed", c.what, c.want)
		}
	}
}

// The number of problems that are kept is bounded; all are counted.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}`)
	}
	b.WriteByte('}')
	data := shardOf(b.String(), 0)
	h := checkpoint.ReadHeader("x.safetensors", bytes.NewReader(data), int64(len(data)))
	list, n := h.Problems(checkpoint.FlawDuplicate)
	if n != 999 || len(list) > 20 {
		t.Errorf("counted %d, kept %d; want 999 counted and few kept", n, len(list))
	}
}

// countingReader says which bytes were asked for.
type countingReader struct {
	data []byte
	ends []int64
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	r.ends = append(r.ends, off+int64(len(p)))
	return bytes.NewReader(r.data).ReadAt(p, off)
}

// A header costs two reads and no byte of the weights: over a network that is
// what makes stage 0 cheap.
func TestTwoReads(t *testing.T) {
	t.Parallel()
	const header = `{"a": {"dtype": "U8", "shape": [4096], "data_offsets": [0, 4096]}}`
	r := &countingReader{data: shardOf(header, 4096)}
	if h := checkpoint.ReadHeader("x", r, int64(len(r.data))); !h.Sound() {
		t.Fatal("not sound")
	}
	if len(r.ends) != 2 || r.ends[1] != int64(8+len(header)) {
		t.Errorf("reads end at %v, want two reads up to %d", r.ends, 8+len(header))
	}
}
