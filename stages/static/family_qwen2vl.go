package static

import (
	"strings"

	"infbench/stages/checkpoint"
)

// Qwen2-VL: the text model of Qwen2 and a vision tower beside it.
var _ = addFamily(family{types: []string{"qwen2_vl"}, shape: qwen2VLShape})

func qwen2VLShape(d dims, name string) ([]int64, bool) {
	rest, ok := strings.CutPrefix(name, "visual.")
	if !ok {
		return llamaShape(d, name)
	}
	or := func(key string, usual int64) int64 {
		if n := d.vision.Get(key).Int(); n > 0 && n < 1<<20 {
			return n
		}
		return usual
	}
	width := or("embed_dim", 1280)
	merged := width * or("spatial_merge_size", 2) * or("spatial_merge_size", 2)
	inner := width * or("mlp_ratio", 4)
	switch rest { // here the number says which of two linears it is
	case "merger.mlp.0.weight":
		return []int64{merged, merged}, true
	case "merger.mlp.0.bias":
		return []int64{merged}, true
	case "merger.mlp.2.weight":
		return []int64{d.hidden, merged}, true
	case "merger.mlp.2.bias":
		return []int64{d.hidden}, true
	}
	pattern, _ := checkpoint.Generalise(rest)
	switch strings.TrimPrefix(pattern, "blocks.*.") {
	case "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "attn.proj.bias", "mlp.fc2.bias",
		"merger.ln_q.weight", "merger.ln_q.bias":
		return []int64{width}, true
	case "attn.qkv.weight":
		return []int64{3 * width, width}, true
	case "attn.qkv.bias":
		return []int64{3 * width}, true
	case "attn.proj.weight":
		return []int64{width, width}, true
	case "mlp.fc1.weight":
		return []int64{inner, width}, true
	case "mlp.fc1.bias":
		return []int64{inner}, true
	case "mlp.fc2.weight":
		return []int64{width, inner}, true
	case "patch_embed.proj.weight":
		return []int64{width, or("in_chans", 3), or("temporal_patch_size", 2), or("patch_size", 14), or("patch_size", 14)}, true
	}
	return nil, false
}
