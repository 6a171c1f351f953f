package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// gguf returns the metadata of a GGUF model, or why there is none to judge.
func gguf(inv checkpoint.Inventory) (checkpoint.Metadata, gates.Finding, bool) {
	if inv.Kind() != checkpoint.GGUFModel {
		return checkpoint.Metadata{}, gates.NotApply("not a GGUF model"), false
	}
	m, ok := inv.GGUF()
	if ok {
		return m, gates.Finding{}, true
	}
	for _, h := range inv.Headers() {
		if _, readable := h.Metadata(); readable {
			return m, gates.NotApply("no piece says what the architecture is: see static/gguf.keys"), false
		}
	}
	return m, gates.NotApply("no header can be understood: see static/hdr.length and static/hdr.parse"), false
}

// ggufDescribes is the answer of the checks that ask about files which a GGUF model
// has inside.
var ggufDescribes = gates.NotApply("a GGUF model describes itself: see static/gguf.keys")

// ggufKeys are the keys that every decoder needs; "*." stands for the architecture.
var ggufKeys = []string{"*.block_count", "*.context_length", "*.embedding_length"}

// plainKeys returns the keys of a plain decoder that are absent or no possible value.
func plainKeys(m checkpoint.Metadata, arch string) []string {
	var lost []string
	_, perLayer := m.Count(arch + ".feed_forward_length")
	if !perLayer && len(m.Numbers(arch+".feed_forward_length")) == 0 {
		lost = append(lost, arch+".feed_forward_length")
	}
	if eps, ok := m.Number(arch + ".attention.layer_norm_rms_epsilon"); !ok || !(eps > 0 && eps < 1) {
		lost = append(lost, arch+".attention.layer_norm_rms_epsilon")
	}
	heads, ok := m.Count(arch + ".attention.head_count")
	width, _ := m.Count(arch + ".embedding_length")
	_, stated := m.Count(arch + ".attention.key_length")
	if ok && (heads == 0 || !stated && width%heads != 0) {
		lost = append(lost, arch+".attention.head_count")
	}
	return lost
}

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/gguf.keys",
	Doc: "the metadata of a GGUF model has the keys that every decoder needs\n\nThe architecture, its layers, width and context, and the tokenizer: " +
		"llama.cpp stops at the first that is absent, after the file was downloaded and mapped.",
	Since: since, Cost: glance,
	Modes:   []string{"gguf.keys"},
	Faults:  []string{"adapter", "epsilon-no-number", "heads-that-do-not-divide", "no-architecture", "no-block-count", "no-feed-forward", "no-merges", "no-tokenizer"},
	Engines: []string{"llama.cpp"},
	Causes:  []string{"the conversion stopped, or an editor dropped keys", "the file holds an adapter, a vision projector or a vocabulary alone"},
	Next:    []string{"convert the checkpoint again with the current convert_hf_to_gguf.py", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		m, f, ok := gguf(inv)
		if !ok {
			for _, h := range inv.Headers() {
				if _, readable := h.Metadata(); readable && inv.Kind() == checkpoint.GGUFModel {
					return gates.Fail("general.architecture is absent"), nil
				}
			}
			if inv.Kind() == checkpoint.GGUFModel && len(inv.Headers()) == 0 {
				return gates.Skip("no header is here to be looked at: a Git LFS pointer, or an empty file"), nil
			}
			return f, nil
		}
		arch := m.Text("general.architecture")
		if kind := m.Text("general.type"); kind != "" && kind != "model" {
			return gates.Fail("the file holds a %s, not a model", gates.Quote(kind, 40)), nil
		}
		var lost []string
		for _, k := range ggufKeys {
			if n, ok := m.Count(arch + k[1:]); !ok || n == 0 {
				lost = append(lost, arch+k[1:])
			}
		}
		if !m.Has(arch+".attention.head_count") && !m.Has(arch+".ssm.state_size") && !m.Has(arch+".wkv.head_size") {
			lost = append(lost, arch+".attention.head_count")
		}
		if m.Text("tokenizer.ggml.model") == "" {
			lost = append(lost, "tokenizer.ggml.model")
		}
		if m.Text("tokenizer.ggml.model") == "gpt2" && m.Length("tokenizer.ggml.merges") < 1 {
			lost = append(lost, "tokenizer.ggml.merges")
		}
		if slices.Contains(ggufPlain, arch) {
			lost = append(lost, plainKeys(m, arch)...)
		}
		if len(lost) > 0 {
			f = gates.Fail("%s absent or no count: %s", plural(len(lost), "key"), gates.Printable(some(lost), 200))
			for _, k := range lost {
				f = f.With("%s", k)
			}
			return f, nil
		}
		return gates.Pass("GGUF version %d, architecture %s", m.Version(), gates.Quote(arch, 40)), nil
	},
})
