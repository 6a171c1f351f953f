package static

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.fused_split",
	Doc: "projections that engines fuse are quantised alike\n\nEngines read q, k and v, and gate and up, as one layer. If only some parts are " +
		"quantised, or in different schemes, the slots of the others stay as memory was, or loading stops with a KeyError (vLLM 11790, 39764).",
	Does:  whenPartMissing,
	Since: since, Cost: pass,
	Modes:   []string{"q.fused_split"},
	Faults:  []string{"gate-plain-up-quantised", "stored-fused", "v-in-another-width"},
	Causes:  []string{"the quantiser chose widths or exclusions layer by layer", "an exporter fused the layers, which the class does not store so"},
	Next:    []string{"quantise the projections of one fused layer alike, or exclude all of them", again},
	Engines: []string{"vllm", "sglang"},
	Run:     qFusedSplit,
})

func qFusedSplit(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	j, f, ok := judgeQuant(inv)
	if !ok {
		return f, nil
	}
	if slices.Contains(unfusedMethods, j.decl.Method) {
		return gates.NotApply("engines of %s fuse no projections", gates.Quote(j.decl.Method, 40)), nil
	}
	s := decoder(inv)
	if s == nil {
		return gates.NotApply("no stack of decoder layers is among the names"), nil
	}
	groups := map[string]map[string][]string{} // fused layer → how it is stored → its parts
	var order, fusedOnDisk []string
	splits := slices.Contains(splitTypes, inv.Config().ModelType())
	for _, m := range inv.Modules() {
		last := lastWord(m.Name)
		if !strings.HasPrefix(m.Name, s.Prefix+".") || j.unsureAbout(m.Name) {
			continue
		}
		whole := fusedInto[last]
		if whole == "" && fused[last] == nil {
			continue
		}
		how := j.stored(m)
		if splits && fused[last] != nil && how != "plain" && how != "" && !strings.Contains(m.Name, ".experts") {
			fusedOnDisk = append(fusedOnDisk, m.Name)
		}
		if whole == "" || how == "" {
			continue
		}
		key := strings.TrimSuffix(m.Name, last) + whole
		if groups[key] == nil {
			groups[key] = map[string][]string{}
			order = append(order, key)
		}
		groups[key][how] = append(groups[key][how], last)
	}
	var bad []string
	var first string
	for _, key := range order {
		if ways := groups[key]; len(ways) > 1 {
			bad = append(bad, key)
			if first == "" {
				first = fmt.Sprintf("%s is %s", key, describe(ways))
			}
		}
	}
	switch {
	case len(bad) > 0:
		return with(gates.Fail("%s of parts that are stored differently: %s", share(inv, bad, "fused layer"), first), bad), nil
	case len(fusedOnDisk) > 0:
		return with(gates.Fail("%s stored as one tensor, where %s has its parts apart: %s", share(inv, fusedOnDisk, "module"), inv.Config().ModelType(), some(fusedOnDisk)), fusedOnDisk), nil
	case len(order) == 0:
		return gates.NotApply("no projections that engines fuse are among the names"), nil
	}
	return j.pass("%s of parts that are stored alike", plural(len(order), "fused layer")), nil
}

// unfusedMethods are the methods whose engines keep every projection by itself.
var unfusedMethods = []string{"mlx", "exl2", "exl3", "bitsandbytes", "hqq", "torchao", "quanto", "quip", "qtip", "vptq", "aqlm", "spqr", "eetq", "higgs"}

// splitTypes are model types whose checkpoints keep q, k, v, gate and up apart.
var splitTypes = []string{"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "gemma", "gemma2", "deepseek_v2", "deepseek_v3"}

// fusedInto maps a stored projection to the layer that engines fuse it into.
var fusedInto = map[string]string{
	"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj", "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj",
}

// stored says how a module stores its weight: "plain", or the tensors and widths of
// its form; "" when it stores none.
func (j *judgement) stored(m checkpoint.Module) string {
	f := j.rules.of(m.Name)
	switch quantised := slices.ContainsFunc(f.marks, m.Has); {
	case quantised && f.weightOf(m) == "":
		return ""
	case quantised && len(f.values) == 0:
		return f.weight
	case quantised:
		return f.weight + " " + f.values.String()
	case m.Has("weight"):
		return "plain"
	}
	return ""
}

// unsureAbout reports whether a module is one that could not be judged.
func (j *judgement) unsureAbout(module string) bool { return j.rules.of(module).unsure != "" }

// describe puts the ways of one fused layer into words.
func describe(ways map[string][]string) string {
	var out []string
	for how, parts := range ways {
		slices.Sort(parts)
		out = append(out, fmt.Sprintf("%s (%s)", strings.Join(parts, ", "), how))
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}
