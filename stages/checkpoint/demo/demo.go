// Package demo writes a tiny, sound checkpoint: a Llama of two layers whose
// linear layers are quantised to FP8 in blocks of 128 x 128, as large models are.
// It is fully synthetic, its values are pseudo-random and its bytes the same on
// every machine, so that the main job can be shown without any download.
package demo

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The sizes of the model. The hidden size is two blocks, so that the grids of
// scales are real grids; everything together stays below 1.5 MB.
const (
	hidden  = 256
	inner   = 384
	heads   = 4
	kvHeads = 2
	headDim = 64
	layers  = 2
	vocab   = 512
	block   = 128
)

// The ids of the special tokens, after the 256 bytes.
const (
	idBegin, idEnd, idPad = 256, 257, 258
)

// Write writes the demo checkpoint into dir, which it makes if needed. Files of
// an earlier demo are overwritten, others are left alone.
func Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write demo checkpoint: %w", err)
	}
	for _, f := range files() {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644); err != nil {
			return fmt.Errorf("write demo checkpoint: %w", err)
		}
	}
	return nil
}

type file struct {
	name string
	data []byte
}

func files() []file {
	shards := []*shard{
		{name: "model-00001-of-00002.safetensors"},
		{name: "model-00002-of-00002.safetensors"},
	}
	rng := rand.New(rand.NewPCG(0x696e6662, 0x656e6368))
	shards[0].plain(rng, "model.embed_tokens.weight", vocab, hidden)
	for i := range layers {
		shards[i].layer(rng, fmt.Sprintf("model.layers.%d.", i))
	}
	shards[1].ones("model.norm.weight", hidden)
	out := []file{{"model.safetensors.index.json", index(shards)}}
	for _, s := range shards {
		out = append(out, file{s.name, s.bytes()})
	}
	return append(out, texts()...)
}

// layer adds one decoder layer.
func (s *shard) layer(rng *rand.Rand, prefix string) {
	s.ones(prefix+"input_layernorm.weight", hidden)
	s.ones(prefix+"post_attention_layernorm.weight", hidden)
	for _, l := range []struct {
		name string
		n, k int64
	}{
		{"self_attn.q_proj", heads * headDim, hidden},
		{"self_attn.k_proj", kvHeads * headDim, hidden},
		{"self_attn.v_proj", kvHeads * headDim, hidden},
		{"self_attn.o_proj", hidden, heads * headDim},
		{"mlp.gate_proj", inner, hidden},
		{"mlp.up_proj", inner, hidden},
		{"mlp.down_proj", hidden, inner},
	} {
		s.linear(rng, prefix+l.name, l.n, l.k)
	}
}

// linear adds a quantised weight [n, k] and its scales, one for each block.
func (s *shard) linear(rng *rand.Rand, name string, n, k int64) {
	weight := make([]byte, n*k)
	for i := range weight {
		// 0x7f and 0xff are NaN in E4M3; below 0x78 no value is near the edge.
		weight[i] = byte(rng.IntN(0x78)) | byte(rng.IntN(2))<<7
	}
	s.add(name+".weight", "F8_E4M3", weight, n, k)
	rows, columns := (n+block-1)/block, (k+block-1)/block
	var scales []byte
	for range rows * columns {
		scale := float32(1.0/4096) * (1 + rng.Float32())
		scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(scale))
	}
	s.add(name+".weight_scale_inv", "F32", scales, rows, columns)
}

// plain adds a BF16 matrix of small values.
func (s *shard) plain(rng *rand.Rand, name string, n, k int64) {
	var data []byte
	for range n * k {
		data = appendBF16(data, (rng.Float32()-0.5)/8)
	}
	s.add(name, "BF16", data, n, k)
}

// ones adds a BF16 vector of ones, as norms begin.
func (s *shard) ones(name string, n int64) {
	var data []byte
	for range n {
		data = appendBF16(data, 1)
	}
	s.add(name, "BF16", data, n)
}

// appendBF16 appends the upper half of a float32.
func appendBF16(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(v)>>16))
}
