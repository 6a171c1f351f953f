// Package sparse makes a large checkpoint for measurements: headers are real, weights are
// holes, so that it takes no room on the disk.
package sparse

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"infbench/stages/checkpoint"
)

// Tensors in FP8 with their scales, and the Shards that hold them.
const (
	Tensors = 100_000
	Shards  = 163
)

// Write makes the checkpoint in a folder, which is made where it is not there.
func Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	type shard struct {
		header strings.Builder
		end    int64
	}
	all := map[string]*shard{}
	var index strings.Builder
	index.WriteString(`{"metadata": {}, "weight_map": {"model.norm.weight": "extra.safetensors"`)
	for i := range Tensors {
		name := fmt.Sprintf("model.layers.%d.mlp.experts.%d.%s.", i/1640, i%1640/6, [...]string{"gate_proj", "up_proj", "down_proj"}[i%1640/2%3])
		file := fmt.Sprintf("model-%05d-of-%06d.safetensors", i/614+1, Shards)
		s := all[file]
		if s == nil {
			s = &shard{}
			s.header.WriteString(`{"__metadata__":{"format":"pt"}`)
			all[file] = s
		}
		dtype, shape, size := "F8_E4M3", "[256,256]", int64(1<<16)
		if name += "weight"; i%2 == 1 {
			name, dtype, shape, size = name+"_scale_inv", "F32", "[2,2]", 16
		}
		fmt.Fprintf(&index, ",\n    %q: %q", name, file)
		fmt.Fprintf(&s.header, `,%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, s.end, s.end+size)
		s.end += size
	}
	index.WriteString("}}")
	for file, s := range all {
		s.header.WriteByte('}')
		head := binary.LittleEndian.AppendUint64(nil, uint64(s.header.Len()))
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, append(head, s.header.String()...), 0o644); err != nil {
			return err
		}
		if err := os.Truncate(path, int64(8+s.header.Len())+s.end); err != nil {
			return err
		}
	}
	config := `{"model_type": "deepseek_v3", "num_hidden_layers": 61, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}`
	if err := os.WriteFile(filepath.Join(dir, checkpoint.ConfigFile), []byte(config), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, checkpoint.DefaultIndex), []byte(index.String()), 0o644)
}
