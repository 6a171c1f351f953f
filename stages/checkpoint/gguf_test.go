package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/gguftest"
)

func ggufFile(t testing.TB, s gguftest.Spec) []byte {
	t.Helper()
	b, err := s.File()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var tiny = gguftest.Spec{
	Meta: [][2]any{
		{"general.architecture", "llama"},
		{"llama.block_count", 3.0},
		{"llama.nextn_predict_layers", 1.0},
		{"llama.rope.freq_base", 0.5},
		{"llama.attention.head_count_kv", []any{2.0, 0.0, 2.0}},
		{"tokenizer.ggml.tokens", []any{"a", "b"}},
		{"tokenizer.ggml.eos_token_id", 1.0},
	},
	Tensors: []gguftest.Tensor{
		{Name: "token_embd.weight", Shape: []int64{2, 256}, Type: 12, Bytes: 288}, // Q4_K: 144 bytes for 256 values
		{Name: "blk.0.attn_norm.weight", Shape: []int64{3}},
	},
}

func TestReadGGUF(t *testing.T) {
	t.Parallel()
	data := ggufFile(t, tiny)
	h := checkpoint.ReadGGUF("m.gguf", bytes.NewReader(data), int64(len(data)))
	if !h.Sound() {
		list, _ := h.Problems(checkpoint.FlawSize, checkpoint.FlawHole, checkpoint.FlawSyntax, checkpoint.FlawLength, checkpoint.FlawTruncated)
		t.Fatal(list)
	}
	m, ok := h.Metadata()
	if !ok || m.Version() != 3 || m.Text("general.architecture") != "llama" || m.Length("tokenizer.ggml.tokens") != 2 || m.Length("llama.block_count") != -1 {
		t.Errorf("metadata %+v", m)
	}
	if n, ok := m.Count("llama.rope.freq_base"); ok {
		t.Errorf("0.5 counts as %d", n)
	}
	if got := m.Numbers("llama.attention.head_count_kv"); !slices.Equal(got, []float64{2, 0, 2}) {
		t.Errorf("array %v", got)
	}
	ts := h.Tensors()
	if len(ts) != 2 || ts[0].DType != "Q4_K" || !slices.Equal(ts[0].Shape, []int64{2, 256}) || ts[0].Bytes() != 288 || ts[1].Begin != 288 || ts[1].Bytes() != 12 {
		t.Errorf("tensors %+v", ts)
	}
}

func TestGGUFConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "m.gguf", ggufFile(t, tiny))
	put(t, dir, "mmproj-m.gguf", []byte("GGUF"))
	inv := open(t, dir)
	c := inv.Config()
	layers, _ := c.Layers()
	if inv.Kind() != checkpoint.GGUFModel || c.ModelType() != "gguf:llama" || layers != 2 || c.Value("num_nextn_predict_layers").Int() != 1 {
		t.Errorf("%v, %q, %d layers", inv.Kind(), c.ModelType(), layers)
	}
	if kinds := c.Value("layer_types").Array(); len(kinds) != 2 || kinds[0].Str == kinds[1].Str {
		t.Errorf("a layer without heads is of the same kind: %v", kinds)
	}
	if got := inv.GGUFFiles(); !slices.Equal(got, []string{"m.gguf"}) {
		t.Errorf("files %v", got)
	}
	if byName := open(t, filepath.Join(dir, "m.gguf")); byName.Fingerprint() != inv.Fingerprint() {
		t.Error("the file alone has another fingerprint than its folder")
	}
}

// Each hostile file is one problem in one line, and no file costs more memory than its
// own size.
func TestGGUFHostile(t *testing.T) {
	t.Parallel()
	sound := ggufFile(t, tiny)
	le := binary.LittleEndian
	at := func(b []byte, offset int, v uint64) []byte {
		b = slices.Clone(b)
		le.PutUint64(b[offset:], v)
		return b
	}
	// One key "a", whose value is an array (9) of arrays (9), one of them.
	nested := append(ggufFile(t, gguftest.Spec{})[:16], "\x01\x00\x00\x00\x00\x00\x00\x00"+"\x01\x00\x00\x00\x00\x00\x00\x00a"+"\x09\x00\x00\x00\x09\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"...)
	for name, c := range map[string]struct {
		data []byte
		flaw checkpoint.Flaw
		want string
	}{
		"empty":              {nil, checkpoint.FlawLength, "the file has 0 bytes"},
		"magic":              {[]byte("version https://"), checkpoint.FlawSyntax, "not with GGUF"},
		"big endian":         {append([]byte("GGUF\x00\x00\x00\x03"), sound[8:]...), checkpoint.FlawSyntax, "big-endian"},
		"version 1":          {append([]byte("GGUF\x01\x00\x00\x00"), sound[8:]...), checkpoint.FlawSyntax, "version 1"},
		"tensors 2^63":       {at(sound, 8, 1<<63), checkpoint.FlawLength, "claims 9223372036854775808 tensors"},
		"keys 2^63":          {at(sound, 16, 1<<63), checkpoint.FlawLength, "claims 9223372036854775808 keys"},
		"key length 2^63":    {at(sound, 24, 1<<63), checkpoint.FlawLength, "a text claims"},
		"cut in the header":  {sound[:100], checkpoint.FlawLength, "ends inside its header"},
		"cut in the weights": {sound[:len(sound)-100], checkpoint.FlawTruncated, "are missing"},
		"array of arrays":    {nested, checkpoint.FlawSyntax, "an array of the type 9"},
		"key twice":          {ggufFile(t, gguftest.Spec{Meta: [][2]any{{"a", 1.0}, {"a", 2.0}}}), checkpoint.FlawDuplicate, "two keys"},
		"alignment":          {ggufFile(t, gguftest.Spec{Meta: [][2]any{{"general.alignment", 33.0}}}), checkpoint.FlawShape, "power of two"},
		"tensor twice":       {ggufFile(t, gguftest.Spec{Tensors: []gguftest.Tensor{{Name: "x", Shape: []int64{8}}, {Name: "x", Shape: []int64{8}}}}), checkpoint.FlawDuplicate, "two tensors"},
		"half a block":       {ggufFile(t, gguftest.Spec{Tensors: []gguftest.Tensor{{Name: "x", Shape: []int64{33}, Type: 2, Bytes: 18}}}), checkpoint.FlawSize, "blocks of 32"},
		"five dimensions":    {ggufFile(t, gguftest.Spec{Tensors: []gguftest.Tensor{{Name: "x", Shape: []int64{1, 1, 1, 1, 1}}}}), checkpoint.FlawShape, "5 dimensions"},
		"beyond any file":    {ggufFile(t, gguftest.Spec{Tensors: []gguftest.Tensor{{Name: "x", Shape: []int64{1 << 40, 1 << 40}, Bytes: 32}}}), checkpoint.FlawSize, "possible number"},
		"overlap":            {ggufFile(t, gguftest.Spec{Tensors: []gguftest.Tensor{{Name: "x", Shape: []int64{16}}, {Name: "y", Shape: []int64{16}, Shift: -32}}}), checkpoint.FlawOverlap, "ends at 64"},
	} {
		h := checkpoint.ReadGGUF("m.gguf", bytes.NewReader(c.data), int64(len(c.data)))
		list, n := h.Problems(c.flaw)
		if n == 0 || !strings.Contains(list[0].String(), c.want) || strings.Contains(list[0].String(), "\n") {
			t.Errorf("%s: %d problems %v, want one with %q", name, n, list, c.want)
		}
	}
}

// A file that is accepted has tensors inside it that do not overlap, and whatever it
// is, reading it ends.
func FuzzGGUF(f *testing.F) {
	f.Add(ggufFile(f, tiny))
	f.Add(ggufFile(f, gguftest.Spec{Version: 2, Meta: [][2]any{{"general.alignment", 64.0}, {"x", true}}}))
	f.Add([]byte("GGUF\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := checkpoint.ReadGGUF("x", bytes.NewReader(data), int64(len(data)))
		if !h.Sound() {
			return
		}
		var end int64
		for _, x := range h.Tensors() {
			if x.Begin < end || x.End < x.Begin || 8+h.Length()+x.End > int64(len(data)) {
				t.Fatalf("%+v lies outside, or on another", x)
			}
			end = x.End
		}
	})
}
