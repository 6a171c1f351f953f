package static

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// An Estimate is what a checkpoint costs before it is served: information, never a
// verdict. Sizes are in bytes; -1 means that the small files do not tell.
type Estimate struct {
	// Download is the sum of the files that an engine needs, as the listing states
	// them: the weights, and the small files beside them.
	Download int64
	// Weights is the memory that the tensors take as they are stored.
	Weights int64
	// DTypes splits Weights by the type that the tensors are stored in, largest
	// first; it is empty where only the index is here.
	DTypes []DTypeBytes
	// KV is the cache that each token takes.
	KV KVCache
}

// DTypeBytes is what the tensors of one type take.
type DTypeBytes struct {
	DType   checkpoint.DType
	Tensors int
	Bytes   int64
}

// A KVCache is the memory of keys and values, at 16 bits a value; engines that keep
// them in 8 bits take half.
type KVCache struct {
	// Kind says how keys and values are kept, "" when the configuration does not tell.
	Kind string
	// PerToken is what a token takes at the beginning of a sequence, in bytes.
	PerToken int64
	// BeyondWindow is what a token takes once the sequence is longer than Window
	// tokens: layers with a sliding window keep no more.
	BeyondWindow int64
	Window       int64
	// Layers, Windowed and Stateless count the layers that keep every token, a window
	// of them, and none: those keep a state of fixed size, which is not counted here.
	Layers, Windowed, Stateless int64
}

// Bytes returns the cache of one sequence of so many tokens, in bytes.
func (k KVCache) Bytes(tokens int64) int64 {
	if k.Window == 0 || tokens <= k.Window {
		return k.PerToken * tokens
	}
	return k.PerToken*k.Window + k.BeyondWindow*(tokens-k.Window)
}

// Tokens returns how many tokens of one sequence fit into so many bytes.
func (k KVCache) Tokens(bytes int64) int64 {
	switch {
	case k.PerToken <= 0 || bytes <= 0:
		return 0
	case k.Window == 0 || bytes <= k.PerToken*k.Window:
		return bytes / k.PerToken
	case k.BeyondWindow == 0:
		return -1 // the window bounds it: any length fits
	}
	return k.Window + (bytes-k.PerToken*k.Window)/k.BeyondWindow
}

// EstimateOf estimates what a checkpoint costs.
func EstimateOf(inv checkpoint.Inventory) Estimate {
	e := Estimate{Download: download(inv), Weights: -1, KV: kvCache(inv.Config())}
	byType := map[checkpoint.DType]*DTypeBytes{}
	read, total := 0, int64(0)
	for _, h := range inv.Headers() {
		if len(h.Tensors()) > 0 {
			read++
		}
		for _, t := range h.Tensors() {
			b := byType[t.DType]
			if b == nil {
				b = &DTypeBytes{DType: t.DType}
				byType[t.DType] = b
			}
			b.Tensors++
			b.Bytes += max(t.Bytes(), 0)
			total += max(t.Bytes(), 0)
		}
	}
	if read > 0 && read >= len(inv.Weights().Needed) {
		e.Weights = total
		for _, t := range slices.SortedFunc(maps.Keys(byType), func(a, b checkpoint.DType) int {
			return cmp.Or(cmp.Compare(byType[b].Bytes, byType[a].Bytes), cmp.Compare(a, b))
		}) {
			e.DTypes = append(e.DTypes, *byType[t])
		}
	} else if n := inv.Index().TotalSize().Bytes; n > 0 {
		e.Weights = n
	}
	return e
}

// download sums the files that an engine needs; formats beside them are left out.
func download(inv checkpoint.Inventory) int64 {
	var sum int64
	needed := inv.Weights().Needed
	for _, n := range needed {
		f, ok := inv.File(n)
		size, known := f.Size()
		if p, pointer := f.Pointer(); pointer {
			size, known = p.Size, p.Size >= 0
		}
		if !ok || !known {
			return -1
		}
		sum += size
	}
	if len(needed) == 0 {
		return -1
	}
	for _, f := range inv.Files() {
		if n, known := f.Size(); known && !slices.Contains(needed, f.Name()) && describes(f.Name()) {
			sum += n
		}
	}
	return sum
}

func describes(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jinja") || strings.HasSuffix(name, ".model") ||
		strings.HasSuffix(name, ".tiktoken") || name == "merges.txt" || name == "vocab.txt"
}

// What a layer keeps of each token.
type keeps uint8

const (
	every    keeps = iota // keys and values of every token
	windowed              // those of the last tokens only
	nothing               // a state of fixed size
)

// kvCache derives the cache from the configuration.
func kvCache(c checkpoint.Config) KVCache {
	layers, ok := c.Layers()
	if !ok || layers > 1<<16 || c.EncoderDecoder() {
		return KVCache{}
	}
	kinds, window := keeping(c, int(layers))
	full, slide, kind := perLayer(c)
	if full <= 0 {
		return KVCache{}
	}
	k := KVCache{Kind: kind, Window: window}
	for _, w := range kinds {
		switch w {
		case every:
			k.Layers++
			k.PerToken += full
			k.BeyondWindow += full
		case windowed:
			k.Windowed++
			k.PerToken += slide
		case nothing:
			k.Stateless++
		}
	}
	if k.Windowed == 0 {
		k.Window = 0
	}
	switch {
	case k.Stateless > 0:
		k.Kind += ", hybrid"
	case k.Windowed > 0:
		k.Kind += ", sliding window"
	}
	return k
}

// perLayer returns what one layer keeps of a token at 16 bits, in bytes: one that
// keeps every token, and one with a window, which may have other heads.
func perLayer(c checkpoint.Config) (full, slide int64, kind string) {
	const width = 2 // bytes a value
	if rank, ok := c.Count("kv_lora_rank"); ok {
		rope, _ := c.Count("qk_rope_head_dim")
		n := (rank + rope) * width
		return n, n, "latent (MLA)"
	}
	kv, ok1 := c.KVHeads()
	dim, ok2 := c.HeadDim()
	if c.Value("multi_query").Bool() && !c.Value("new_decoder_architecture").Bool() {
		kv = 1
	}
	if n, ok := c.Count("num_kv_heads"); ok && c.Value("new_decoder_architecture").Bool() {
		kv = n
	}
	for _, key := range []string{"n_head_kv", "attn_config.kv_n_heads", "num_attention_groups"} {
		if n, ok := c.Count(key); ok {
			kv = n
		}
	}
	if n, ok := c.Count("multi_query_group_num"); ok && c.Value("multi_query_attention").Bool() {
		kv = n
	}
	if blocks := c.Value("block_configs").Array(); len(blocks) > 0 { // Nemotron-NAS: heads in a group, where attention is
		for _, b := range blocks {
			if n := b.Get("attention.n_heads_in_group").Int(); n > 0 {
				if heads, ok := c.Heads(); ok {
					kv = heads / n
				}
				break
			}
		}
	}
	if !ok1 || !ok2 {
		return 0, 0, ""
	}
	slide = 2 * kv * dim * width
	full = slide
	globalKV, ok1 := c.Count("num_global_key_value_heads")
	globalDim, ok2 := c.Count("global_head_dim")
	if ok1 || ok2 { // Gemma 4: layers that see everything have heads of their own
		full = 2 * cmp.Or(globalKV, kv) * cmp.Or(globalDim, dim) * width
	}
	kind = "grouped-query"
	switch heads, ok := c.Heads(); {
	case kv == 1:
		kind = "multi-query"
	case ok && kv == heads:
		kind = "multi-head"
	}
	return full, slide, kind
}

// keeping says what each layer keeps, and how long a window is.
func keeping(c checkpoint.Config, layers int) (out []keeps, window int64) {
	out = make([]keeps, layers)
	window, _ = c.Count("sliding_window", "attention_chunk_size", "sliding_window_size")
	if r := c.Value("use_sliding_window"); r.IsBool() && !r.Bool() {
		window = 0
	}
	if !layerKinds(c, out, window > 0) && window > 0 {
		windows(c, out)
	}
	for _, e := range c.Value("cross_attention_layers").Array() { // they look at the picture, which is not counted
		if i := e.Int(); i >= 0 && i < int64(layers) {
			out[i] = nothing
		}
	}
	if n, ok := c.Count("cla_share_factor"); ok && n > 1 && c.Value("use_cla").Bool() {
		for i := range out { // neighbours share one cache
			if int64(i)%n != 0 {
				out[i] = nothing
			}
		}
	}
	if n, ok := c.Count("num_kv_shared_layers"); ok { // the last ones read an earlier layer's
		for i := max(layers-int(n), 0); i < layers; i++ {
			out[i] = nothing
		}
	}
	return out, window
}

// layerKinds reads the lists, patterns and periods by which hybrid models say which
// layer is what; it reports whether there was any.
func layerKinds(c checkpoint.Config, out []keeps, windowIsSet bool) bool {
	for _, key := range []string{"layer_types", "layers_block_type", "attn_type_list"} {
		list := c.Value(key).Array()
		if len(list) < len(out) {
			continue
		}
		for i := range out {
			out[i] = kindOf(list[i], windowIsSet)
		}
		return true
	}
	// Llama 4: a layer without rotary positions sees everything, the others a chunk.
	if list := c.Value("no_rope_layers").Array(); len(list) >= len(out) && len(out) > 0 && windowIsSet {
		for i := range out {
			if out[i] = windowed; list[i].Int() == 0 {
				out[i] = every
			}
		}
		return true
	}
	// MiMo: 1 has a window, 0 sees everything.
	if list := c.Value("hybrid_layer_pattern").Array(); len(list) >= len(out) && len(out) > 0 {
		for i := range out {
			if list[i].Int() == 1 && windowIsSet {
				out[i] = windowed
			}
		}
		return true
	}
	// EXAONE 4: "LLLG", L for a window, G for all.
	if p := c.Value("sliding_window_pattern").Str; p != "" && windowIsSet {
		for i := range out {
			if p[i%len(p)] == 'L' {
				out[i] = windowed
			}
		}
		return true
	}
	// Kimi Linear: the layers that are attention, counted from one.
	if list := c.Value("linear_attn_config.full_attn_layers").Array(); len(list) > 0 {
		only(out, list, 1)
		return true
	}
	if blocks := c.Value("block_configs").Array(); len(blocks) >= len(out) && len(out) > 0 {
		for i := range out {
			if blocks[i].Get("attention.no_op").Bool() || blocks[i].Get("attention.replace_with_linear").Bool() {
				out[i] = nothing
			}
		}
		return true
	}
	if p := c.Value("hybrid_override_pattern").Str; len(p) >= len(out) && len(out) > 0 {
		for i := range out {
			if out[i] = nothing; p[i] == '*' {
				out[i] = every
			}
		}
		return true
	}
	for _, key := range []string{"attn_layer_indices", "full_attn_idxs"} {
		if list := c.Value(key).Array(); len(list) > 0 {
			only(out, list, 0)
			return true
		}
	}
	if period, ok := c.Count("attn_layer_period"); ok {
		offset := c.Value("attn_layer_offset").Int()
		for i := range out {
			if out[i] = nothing; int64(i)%period == offset {
				out[i] = every
			}
		}
		return true
	}
	if n, ok := c.Count("full_attention_interval"); ok && n > 1 {
		for i := range out {
			if out[i] = nothing; (int64(i)+1)%n == 0 {
				out[i] = every
			}
		}
		return true
	}
	return false
}

// only says that the listed layers keep every token, and no other keeps any; base is the
// number of the first layer.
func only(out []keeps, list []gjson.Result, base int64) {
	for i := range out {
		out[i] = nothing
	}
	for _, e := range list {
		if i := e.Int() - base; i >= 0 && i < int64(len(out)) {
			out[i] = every
		}
	}
}

// kindOf reads one entry of a list of kinds.
func kindOf(e gjson.Result, windowIsSet bool) keeps {
	word := strings.ToLower(e.Str)
	switch {
	case e.Type == gjson.Number: // MiniMax: 1 is softmax attention, 0 a linear one
		if e.Int() == 0 {
			return nothing
		}
	case strings.Contains(word, "sliding"), strings.Contains(word, "chunked"), strings.Contains(word, "local"):
		if windowIsSet {
			return windowed
		}
	case strings.Contains(word, "linear"), strings.Contains(word, "mamba"), strings.Contains(word, "recurrent"), strings.Contains(word, "conv"),
		word == "moe", word == "mlp", strings.Contains(word, "-attention.head_count"):
		return nothing
	}
	return every
}

// windows says which layers have a window where no list does: every so-manyth layer
// sees everything (Gemma), or all but the first ones have a window (Qwen 2), or all do
// (Mistral).
func windows(c checkpoint.Config, out []keeps) {
	period, _ := c.Count("sliding_window_pattern")
	if period == 0 {
		switch kind := strings.TrimPrefix(c.TextModelType(), checkpoint.GGUFType); {
		case strings.HasPrefix(kind, "gemma2"):
			period = 2
		case strings.HasPrefix(kind, "gemma3"):
			period = 6
		case kind == "gpt-oss":
			period = 2
		}
	}
	first, all := int64(0), true
	if n, ok := c.Count("max_window_layers"); ok {
		first, all = n, false
	}
	for i := range out {
		switch {
		case period > 1 && (int64(i)+1)%period == 0:
		case period > 1, all, int64(i) >= first:
			out[i] = windowed
		}
	}
}
