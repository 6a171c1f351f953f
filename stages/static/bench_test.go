package static_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/checkpoint"
	"infbench/stages/static"
)

// large writes a sparse FP8 checkpoint of 100,000 tensors in 163 shards.
func large(b *testing.B, dir string) {
	b.Helper()
	type shard struct {
		header strings.Builder
		end    int64
	}
	shards := map[string]*shard{}
	var index strings.Builder
	index.WriteString(`{"metadata": {}, "weight_map": {"model.norm.weight": "extra.safetensors"`)
	for i := range 100_000 {
		name := fmt.Sprintf("model.layers.%d.mlp.experts.%d.%s.", i/1640, i%1640/6, [...]string{"gate_proj", "up_proj", "down_proj"}[i%1640/2%3])
		file := fmt.Sprintf("model-%05d-of-000163.safetensors", i/614+1)
		s := shards[file]
		if s == nil {
			s = &shard{}
			s.header.WriteString(`{"__metadata__":{"format":"pt"}`)
			shards[file] = s
		}
		entry, size := `"F8_E4M3","shape":[256,256]`, int64(1<<16)
		if name += "weight"; i%2 == 1 {
			name, entry, size = name+"_scale_inv", `"F32","shape":[2,2]`, 16
		}
		fmt.Fprintf(&index, ",\n    %q: %q", name, file)
		fmt.Fprintf(&s.header, `,%q:{"dtype":%s,"data_offsets":[%d,%d]}`, name, entry, s.end, s.end+size)
		s.end += size
	}
	index.WriteString("}}")
	for file, s := range shards {
		s.header.WriteByte('}')
		head := binary.LittleEndian.AppendUint64(nil, uint64(s.header.Len()))
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, append(head, s.header.String()...), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Truncate(path, int64(8+s.header.Len())+s.end); err != nil {
			b.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"model.safetensors.index.json": index.String(),
		"config.json": `{"model_type": "deepseek_v3", "num_hidden_layers": 61,
			"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStage100k opens the checkpoint, reads all headers and asks every check.
func BenchmarkStage100k(b *testing.B) {
	dir := b.TempDir()
	large(b, dir)
	b.ReportAllocs()
	for b.Loop() {
		inv, err := checkpoint.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range static.Checks() {
			if v := gates.Run(b.Context(), c, inv); v.Status() == gates.Failed && strings.HasPrefix(c.ID, "static/q.") {
				b.Fatal(c.ID, v.Summary())
			}
		}
	}
}
