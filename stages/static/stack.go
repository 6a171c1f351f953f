package static

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"infbench/stages/checkpoint"
)

// decoderPrefixes are the places of the text decoder's layers, surest first.
var decoderPrefixes = []string{
	"model.language_model.layers", "language_model.model.layers", "model.language_model.model.layers",
	"model.layers", "llm.model.layers", "vlm.lang_model.model.layers", "language_model.layers",
	"thinker.model.layers", "transformer.encoder.layers", "transformer.h", "model.transformer.blocks",
	"transformer.blocks", "gpt_neox.layers", "model.decoder.layers", "backbone.layers", "transformer.layers",
	"layers", "h",
}

// notDecoder are words in prefixes of other stacks: towers, projectors, drafts.
var notDecoder = regexp.MustCompile(`vis|audio|speech|image|encoder|mtp|nextn|resampler|merger|projector|tower|sam|vpm|vit|neck|expert|conv`)

// decoder returns the stack of the text decoder, nil when none can be told.
func decoder(inv checkpoint.Inventory) *checkpoint.Stack {
	type key struct{}
	return checkpoint.Derive(inv, key{}, findDecoder)
}

func findDecoder(inv checkpoint.Inventory) *checkpoint.Stack {
	stacks := inv.Stacks()
	for _, p := range decoderPrefixes {
		for _, s := range stacks {
			if s.Prefix == p {
				return s
			}
		}
	}
	for _, s := range stacks {
		if !notDecoder.MatchString(s.Prefix) && len(s.Layers) > 1 {
			return s
		}
	}
	return nil
}

// extraLayers returns how many layers for multi-token prediction may follow the
// decoder's own in the same stack.
func extraLayers(c checkpoint.Config) int64 {
	n, _ := c.Count("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
	return n
}

// kinds returns, for each layer of a configuration, a label of the kind of layer
// that it declares: layers of one label must look alike. Configurations describe
// kinds in lists, periods and first-so-many counts.
func kinds(c checkpoint.Config, layers int) []string {
	out := make([]string, layers)
	mark := func(of func(i int) string) {
		for i := range out {
			out[i] += of(i) + ";"
		}
	}
	for _, key := range []string{"layer_types", "attn_type_list", "layers_block_type", "moe_layer_freq"} {
		if list := c.Value(key).Array(); len(list) >= layers {
			mark(func(i int) string { return list[i].Raw })
		}
	}
	if p := c.Value("hybrid_override_pattern").Str; len(p) >= layers {
		mark(func(i int) string { return p[i : i+1] })
	}
	for _, key := range []string{"mlp_only_layers", "cross_attention_layers", "full_attn_idxs", "attn_layer_indices"} {
		member := map[int]bool{}
		for _, e := range c.Value(key).Array() {
			member[int(e.Int())] = true
		}
		mark(func(i int) string { return fmt.Sprint(member[i]) })
	}
	if blocks := c.Value("block_configs").Array(); len(blocks) >= layers { // Nemotron-NAS leaves parts of layers out
		mark(func(i int) string {
			b := blocks[i]
			return b.Get("attention.no_op").Raw + b.Get("attention.replace_with_linear").Raw + b.Get("ffn.no_op").Raw + b.Get("ffn.replace_with_linear").Raw
		})
	}
	if n, ok := c.Count("first_k_dense_replace"); ok {
		mark(func(i int) string { return fmt.Sprint(int64(i) < n) })
	}
	if n, ok := c.Count("num_kv_shared_layers"); ok { // the last ones share keys and values
		mark(func(i int) string { return fmt.Sprint(i >= layers-int(n)) })
	}
	for _, key := range []string{
		"full_attention_interval", "decoder_sparse_step", "attn_layer_period", "expert_layer_period",
		"sliding_window_pattern", "interleave_moe_layer_step", "moe_layer_freq",
	} {
		if n, ok := c.Count(key); ok && n > 1 {
			mark(func(i int) string { return fmt.Sprint(int64(i) % n) })
		}
	}
	return out
}

// weightParts are the endings that say how a weight is stored, not which weight
// it is: a quantised layer and a plain one hold the same weights.
var weightParts = regexp.MustCompile(`(\.|_)(weight|qweight|qzeros|scales|g_idx|biases|weight_packed|weight_scale|weight_scale_inv|weight_scale_2|weight_shape|` +
	`weight_zero_point|weight_g_idx|weight_global_scale|input_scale|input_global_scale|activation_scale|k_scale|v_scale|SCB|weight_format|blocks|pre_quant_scale)$|\.weight\..*$`)

// harmless are buffers that some writers store and nobody needs.
var harmless = regexp.MustCompile(`inv_freq$|masked_bias$|attn\.bias$|attention\.bias$|position_ids$|_extra_state$|num_batches_tracked$`)

// anatomy returns the weights of a layer, whichever way they are stored. Biases
// count only where the checkpoint is not quantised: quantisers add zero ones.
func anatomy(l *checkpoint.Layer, quantised bool) map[string]bool {
	out := map[string]bool{}
	for p := range l.Patterns {
		switch {
		case harmless.MatchString(p):
		case strings.HasSuffix(p, "bias") && quantised:
		default:
			out[weightParts.ReplaceAllString(p, "")] = true
		}
	}
	return out
}

// isMTP reports whether a name belongs to a block for multi-token prediction that
// stands outside the decoder's stack.
func isMTP(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		return strings.HasPrefix(part, "mtp") || strings.HasPrefix(part, "nextn") || part == "eh_proj"
	})
}
