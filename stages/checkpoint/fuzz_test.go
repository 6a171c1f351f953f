package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"infbench/stages/checkpoint"
)

// An index that is accepted is what a plain decoder makes of it, in full.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata": {"total_size": 12}, "weight_map": {"a.weight": "model.safetensors"}}`))
	f.Add([]byte(`{"weight_map": {"a": "1", "a": "2"}}`))
	f.Add([]byte(`{"weight_map": {"\u00e9\ud83d\ude00": "..\/x"}} trailing`))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"))
	f.Add([]byte(strings.Repeat(`{"x":`, 100)))
	f.Fuzz(func(t *testing.T, text []byte) {
		x := checkpoint.ParseIndex("x", text)
		if !x.Readable() {
			if len(x.Entries()) != 0 {
				t.Fatal("an unreadable index has entries")
			}
			return
		}
		var want struct {
			M map[string]json.RawMessage `json:"weight_map"`
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("accepted what a decoder refuses: %v", err)
		}
		for _, e := range x.Entries() {
			var shard string
			if json.Unmarshal(want.M[e.Tensor], &shard) != nil || shard != e.Shard {
				t.Fatalf("%q is in %q, a decoder says %s", e.Tensor, e.Shard, want.M[e.Tensor])
			}
		}
	})
}

// A header that is accepted describes tensors that tile the weights exactly, and
// written again it is accepted again, with the same tensors.
func FuzzHeader(f *testing.F) {
	for _, h := range []string{
		`{}`, `{"a": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]}, "b": {"dtype": "F32", "shape": [], "data_offsets": [8, 12]}}`,
		`{"__metadata__": {"format": "pt"}, "f": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}`,
		`{"z": {"dtype": "U8", "shape": [0, 18446744073709551615], "data_offsets": [0, 0]}}`,
		`{"a": {"dtype": "F16", "shape": [4294967296, 4294967296, 4294967296], "data_offsets": [0, 8]}}`,
	} {
		f.Add(shardOf(h, 12))
		f.Add(shardOf(h, 0))
	}
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := checkpoint.ReadHeader("x", bytes.NewReader(data), int64(len(data)))
		if !h.Sound() {
			return
		}
		tensors := slices.Clone(h.Tensors())
		slices.SortFunc(tensors, func(a, b checkpoint.Tensor) int {
			if a.Begin != b.Begin {
				return int(a.Begin - b.Begin)
			}
			return int(a.End - b.End)
		})
		end := int64(0)
		for _, n := range tensors {
			if n.Begin != end {
				t.Fatalf("%q begins at %d, the one before it ends at %d", n.Name, n.Begin, end)
			}
			end = n.End
		}
		if want := int64(len(data)) - 8 - h.Length(); end != want {
			t.Fatalf("the tensors end at %d, the weights at %d", end, want)
		}
		again := shardOf(serialise(t, h.Tensors()), int(end))
		h2 := checkpoint.ReadHeader("x", bytes.NewReader(again), int64(len(again)))
		if !h2.Sound() || fmt.Sprint(h2.Tensors()) != fmt.Sprint(h.Tensors()) {
			t.Fatalf("written again: %v, was %v", h2.Tensors(), h.Tensors())
		}
	})
}

func serialise(t *testing.T, tensors []checkpoint.Tensor) string {
	t.Helper()
	var b strings.Builder
	b.WriteByte('{')
	for i, n := range tensors {
		if i > 0 {
			b.WriteByte(',')
		}
		entry, err := json.Marshal(map[string]any{"dtype": n.DType, "shape": n.Shape, "data_offsets": []int64{n.Begin, n.End}})
		if err != nil {
			t.Fatal(err)
		}
		name, err := json.Marshal(n.Name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s:%s", name, entry)
	}
	b.WriteByte('}')
	return b.String()
}

// A configuration is read without a panic whatever its types are, and numbers
// that come out are usable as counts.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"model_type": "llama", "num_hidden_layers": 32, "eos_token_id": [1, 2], "tie_word_embeddings": true}`))
	f.Add([]byte(`{"text_config": {"vocab_size": 1e308, "hidden_size": -1, "num_attention_heads": 0}, "layer_types": {}}`))
	f.Add([]byte(`{"architectures": "x", "x": [NaN, Infinity, -Infinity]}`))
	f.Add([]byte(strings.Repeat(`[`, 500)))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := checkpoint.ParseConfig(text)
		if _, broken := c.Problem(); broken == c.Readable() {
			t.Fatal("a document is readable exactly if it has no problem")
		}
		for _, count := range []func() (int64, bool){c.Layers, c.Hidden, c.Heads, c.KVHeads, c.HeadDim, c.Experts, c.Vocab} {
			if n, ok := count(); ok && (n <= 0 || n >= 1<<31) {
				t.Fatalf("a count of %d", n)
			}
		}
		_, _ = c.Tied()
		_ = c.Architectures()
		_ = c.DType() + c.ModelType() + c.TextModelType()
		_ = c.IDs("eos_token_id")
		_ = c.EncoderDecoder() && c.HasVision()
	})
}
