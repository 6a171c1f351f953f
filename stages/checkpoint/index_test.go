package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"infbench/stages/checkpoint"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	x := checkpoint.ParseIndex("x", []byte("\n{\"metadata\": {\"total_size\": 12}, \"weight_map\": {\"b\": \"2\", \"a\": \"1\", \"c\\u0301\": \"2\"}}\n"))
	if !x.Readable() || x.TotalSize().Bytes != 12 {
		t.Fatalf("readable %v, total %+v", x.Readable(), x.TotalSize())
	}
	want := []checkpoint.Entry{{Tensor: "b", Shard: "2"}, {Tensor: "a", Shard: "1"}, {Tensor: "c\u0301", Shard: "2"}}
	if !slices.Equal(x.Entries(), want) || !slices.Equal(x.Shards(), []string{"2", "1"}) {
		t.Errorf("got %v in %v", x.Entries(), x.Shards())
	}
}

func TestIndexProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]checkpoint.Flaw{
		``:                                     checkpoint.FlawSyntax,
		`null`:                                 checkpoint.FlawShape,
		`{"weight_map": {}} {}`:                checkpoint.FlawTrailing,
		`{"weight_map": []}`:                   checkpoint.FlawShape,
		`{"weight_map": {"a"}}`:                checkpoint.FlawSyntax,
		`{"weight_map": {},}`:                  checkpoint.FlawSyntax,
		"{\"weight_map\": {\"\xff\": \"a\"}}":  checkpoint.FlawSyntax,
		`{"weight_map": {}, "weight_map": {}}`: checkpoint.FlawDuplicate,
		`{"weight_map": {}, "x": ` + strings.Repeat("[", 1e6):  checkpoint.FlawTooDeep,
		"version https://git-lfs.github.com/spec/v1\nsize 9\n": checkpoint.FlawPointer,
	} {
		x := checkpoint.ParseIndex("x", []byte(text))
		if _, n := x.Problems(want); n == 0 || x.Readable() {
			t.Errorf("%.60q: flaw %d is not noticed", text, want)
		}
	}
}

func TestTotalSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`5`: 5, `0`: 0, `1.5e1`: 15, `16060522496.0`: 16060522496, `-1`: -1, `1.5`: -1, `"7"`: -1, `null`: -1, `1e400`: -1,
	} {
		x := checkpoint.ParseIndex("x", []byte(`{"metadata": {"total_size": `+text+`}, "weight_map": {}}`))
		if got := x.TotalSize(); got.Bytes != want || !got.Stated() {
			t.Errorf("%s: %+v, want %d", text, got, want)
		}
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "model.safetensors.index.json", []byte(`{"weight_map": {
		"model.layers.1.mlp.experts.3.up_proj.weight": "a", "model.layers.1.mlp.experts.3.up_proj.weight_scale_inv": "a",
		"model.layers.0.mlp.experts.gate_up_proj_blocks": "a", "model.layers.0.mlp.experts.gate_up_proj_bias": "a",
		"model.layers.0.q.weight.absmax": "a", "model.layers.0.q.weight": "a", "lm_head.weight": "a", "scalar": "a"}}`))
	inv := open(t, dir)
	got := map[string][]string{}
	for _, m := range inv.Modules() {
		got[m.Name] = m.Parts
		for _, p := range m.Parts {
			if m.Name != "" && !slices.Contains(inv.Names(), m.Tensor(p)) {
				t.Errorf("%s and %s do not join to a tensor", m.Name, p)
			}
		}
	}
	for name, want := range map[string]string{
		"model.layers.1.mlp.experts.3.up_proj":    "weight weight_scale_inv",
		"model.layers.0.mlp.experts.gate_up_proj": "_blocks _bias",
		"model.layers.0.q":                        "weight.absmax weight", "lm_head": "weight", "": "scalar",
	} {
		if strings.Join(got[name], " ") != want {
			t.Errorf("%q owns %q, want %q", name, got[name], want)
		}
	}
	s := inv.Stacks()[0]
	if s.Prefix != "model.layers" || len(s.Layers) != 2 || s.Layers[0].Number != 0 || s.Layer(1) == nil || s.Layer(2) != nil {
		t.Fatalf("stack %+v", s)
	}
	if tally := s.Layer(1).Patterns["mlp.experts.*.up_proj.weight"]; tally == nil || !slices.Equal(tally.Numbers, []int{3}) {
		t.Errorf("patterns %v", s.Layer(1).Patterns)
	}
}

// largeIndex returns an index of 100,000 tensors in the manner of a large
// mixture of experts.
func largeIndex() []byte {
	var b strings.Builder
	b.WriteString(`{"metadata": {"total_size": 688586727753}, "weight_map": {`)
	for i := range 100_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		part := [...]string{"weight", "weight_scale_inv"}[i%2]
		fmt.Fprintf(&b, "\n    \"model.layers.%d.mlp.experts.%d.%s.%s\": \"model-%05d-of-000163.safetensors\"",
			i/1640, i%1640/6, [...]string{"gate_proj", "up_proj", "down_proj"}[i%1640/2%3], part, i/614+1)
	}
	b.WriteString("\n  }\n}\n")
	return []byte(b.String())
}

func BenchmarkParseIndex100k(b *testing.B) {
	text := largeIndex()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if x := checkpoint.ParseIndex("x", text); len(x.Entries()) != 100_000 {
			b.Fatal("entries lost")
		}
	}
}

func BenchmarkOpen100k(b *testing.B) {
	dir := b.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	write("model.safetensors.index.json", largeIndex())
	write("config.json", []byte(`{"model_type": "deepseek_v3"}`))
	b.ReportAllocs()
	for b.Loop() {
		inv, err := checkpoint.Open(dir)
		if err != nil || len(inv.Modules()) != 50_000 || inv.Fingerprint() == "" {
			b.Fatal("not read", err)
		}
	}
}
