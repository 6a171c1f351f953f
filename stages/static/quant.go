package static

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// A scheme knows what one quantisation method stores. Each is one file, which
// adds itself by addScheme.
type scheme struct {
	// methods are the values of quant_method that it answers to.
	methods []string
	// declared says in words where the declaration is and how it excludes modules.
	declared string
	// variants are the ways in which it stores a layer.
	variants []variant
	// rules returns what a declaration demands, or why this variant is not covered.
	rules func(d checkpoint.Declaration) (r rules, why string)
	// source, if not nil, returns the declaration that tells what is stored; it is the
	// first one otherwise.
	source func(all []checkpoint.Declaration) checkpoint.Declaration
	// listed, if not nil, returns the tensors that the declarations themselves list as
	// stored: a second index.
	listed func(all []checkpoint.Declaration) []string
	// marks are parts that no plain module has; they betray undeclared quantisation.
	marks []string
}

var schemes []*scheme

func addScheme(s scheme) bool {
	schemes = append(schemes, &s)
	return true
}

// variant returns the variant of that name.
func variantOf(list []variant, name string) variant {
	i := slices.IndexFunc(list, func(v variant) bool { return v.name == name })
	return list[i] // the name is a constant of the scheme's own file
}

// rules are what one declaration demands of the modules.
type rules struct {
	// form is what a quantised module stores.
	form form
	// formOf, if not nil, returns the form of those modules that have another one, and
	// nil for the rest.
	formOf func(module string) *form
	// exclude matches the modules that are declared plain.
	exclude matcher
	// include, if not nil, tells which modules are meant at all.
	include func(module string) bool
	// targets are the modules that the declaration names as quantised, as written; those
	// that are classes are left out.
	targets []string
	// routers says that routers count as linear layers of this scheme.
	routers bool
}

// of returns the form of a module.
func (r *rules) of(module string) *form {
	if r.formOf != nil {
		if f := r.formOf(module); f != nil {
			return f
		}
	}
	return &r.form
}

// knownMethods are methods that are known by name and whose tensors are not
// looked at.
var knownMethods = []string{
	"gguf", "bitblas", "sparseml", "deepspeedfp", "experts_int8", "tpu_int8", "rtn", "petit_nvfp4", "qqq", "moe_wna16", "ipex", "sinq",
}

// schemeOf returns the scheme of a method, nil when none is covered.
func schemeOf(method string) *scheme {
	for _, s := range schemes {
		if slices.Contains(s.methods, method) {
			return s
		}
	}
	return nil
}

// A judgement is what a declaration and the modules of a checkpoint make of each
// other.
type judgement struct {
	decl    checkpoint.Declaration
	rules   rules
	whole   []checkpoint.Module // with every part that they need
	lacking []lack              // without some of them
	orphans []lack              // parts without their weight
	plain   []string            // plain though declared quantised
	ignored []string            // quantised though declared plain
	unsure  []string            // of a form that is not covered
	why     string              // the first reason for the unsure ones
	at      map[string]bool     // the names of all modules, made when needed
	// linearRouters says that routers are linear layers in this architecture.
	linearRouters bool
}

// A lack is a module and what it has not got.
type lack struct {
	module string
	parts  []string
}

// judgeQuant applies the declaration to all modules, or says why it cannot.
func judgeQuant(inv checkpoint.Inventory) (j judgement, f gates.Finding, ok bool) {
	type key struct{}
	type outcome struct {
		j  judgement
		f  gates.Finding
		ok bool
	}
	o := checkpoint.Derive(inv, key{}, func(inv checkpoint.Inventory) (o outcome) {
		o.j, o.f, o.ok = judge(inv)
		return o
	})
	return o.j, o.f, o.ok
}

func judge(inv checkpoint.Inventory) (j judgement, f gates.Finding, ok bool) {
	decls := inv.Declarations()
	if len(decls) == 0 {
		return j, gates.NotApply("nothing declares a quantisation"), false
	}
	j.decl, j.linearRouters = decls[0], linearRouterTypes[inv.Config().TextModelType()]
	method := gates.Quote(j.decl.Method, 60)
	if _, f, ok := tensorNames(inv); !ok {
		return j, f, false
	}
	s := schemeOf(j.decl.Method)
	if s == nil {
		return j, gates.Skip("not verified: what quant_method %s stores is not covered", method), false
	}
	if s.source != nil {
		j.decl = s.source(decls)
	}
	var why string
	if j.rules, why = s.rules(j.decl); why != "" {
		return j, gates.Skip("not verified: %s: %s", method, gates.Printable(why, 120)), false
	}
	if bad := j.rules.exclude.bad; len(bad) > 0 {
		return j, gates.Skip("not verified: the exclusion %s is written in a form that is not covered", gates.Quote(bad[0], 80)), false
	}
	j.modules(inv)
	if s.listed != nil {
		j.unlisted(inv, s.listed(decls))
	}
	return j, f, true
}

func (j *judgement) modules(inv checkpoint.Inventory) {
	s := decoder(inv)
	for _, m := range inv.Modules() {
		f := j.rules.of(m.Name)
		marked := slices.ContainsFunc(f.marks, m.Has) || j.complete(inv, f, m)
		switch {
		case f.unsure != "":
			if marked || j.meant(s, m.Name) {
				j.unsure = append(j.unsure, m.Name)
				j.why = cmp.Or(j.why, f.unsure)
			}
		case marked:
			j.marked(inv, f, m)
		case stackedScales(m) && !j.rules.exclude.loosely(m.Name):
			j.unsure = append(j.unsure, m.Name)
			j.why = cmp.Or(j.why, "how experts are stacked under this scheme is not covered")
		case j.plainModule(inv, f, s, m):
			j.plain = append(j.plain, m.Name)
		}
	}
}

// stackedScales reports whether a module holds all experts of a layer, with scales
// whose names are glued to those of the projections.
func stackedScales(m checkpoint.Module) bool {
	return lastWord(m.Name) == "experts" && slices.ContainsFunc(m.Parts, func(p string) bool { return strings.Contains(p, "proj_") && strings.Contains(p, "scale") })
}

// unlisted takes the tensors that the declaration lists and that are not stored
// for lost. When none of them is stored, the list is about other names.
func (j *judgement) unlisted(inv checkpoint.Inventory, listed []string) {
	stored := make(map[string]bool, len(inv.Names()))
	for _, n := range inv.Names() {
		stored[n] = true
	}
	found := 0
	var absent []string
	for _, n := range listed {
		if stored[n] {
			found++
		} else {
			absent = append(absent, n)
		}
	}
	if found == 0 {
		return
	}
	known := map[string]bool{}
	for _, list := range [][]lack{j.lacking, j.orphans} {
		for _, l := range list {
			known[l.module] = true
		}
	}
	for _, n := range absent {
		i := strings.LastIndexByte(n, '.')
		if module := n[:max(i, 0)]; !known[module] {
			j.lacking = append(j.lacking, lack{module, []string{n[i+1:]}})
		}
	}
}

// has reports whether a module has a part. A part "child.weight" may be a module
// of its own below it, and one like "weight_scales" is split as a stack's is.
func (j *judgement) has(inv checkpoint.Inventory, m checkpoint.Module, part string) bool {
	if m.Has(part) {
		return true
	}
	child, ok := strings.CutSuffix(part, ".weight")
	if !ok {
		child, ok = strings.CutSuffix(part, "_scales")
	}
	if !ok || child == "" {
		return false
	}
	if j.at == nil {
		j.at = map[string]bool{}
		for _, o := range inv.Modules() {
			j.at[o.Name] = true
		}
	}
	return j.at[m.Name+"."+child]
}

// absent returns the needed parts that a module has not got.
func (j *judgement) absent(inv checkpoint.Inventory, f *form, m checkpoint.Module) []string {
	var out []string
	for _, group := range f.needs {
		if !slices.ContainsFunc(group, func(p string) bool { return j.has(inv, m, p) }) {
			out = append(out, group[0])
		}
	}
	return out
}

// complete reports whether a module has everything that the scheme needs, under
// whichever names.
func (j *judgement) complete(inv checkpoint.Inventory, f *form, m checkpoint.Module) bool {
	return len(f.needs) > 0 && f.weightOf(m) != "" && len(j.absent(inv, f, m)) == 0
}

// marked judges a module that stores at least one part of the scheme.
func (j *judgement) marked(inv checkpoint.Inventory, f *form, m checkpoint.Module) {
	if j.rules.exclude.strictly(m.Name) {
		j.ignored = append(j.ignored, m.Name)
		return
	}
	lacks := lack{module: m.Name, parts: j.absent(inv, f, m)}
	switch {
	case f.weightOf(m) == "":
		j.orphans = append(j.orphans, lack{m.Name, []string{f.weight}})
	case len(lacks.parts) > 0:
		j.lacking = append(j.lacking, lacks)
	default:
		j.whole = append(j.whole, m)
	}
}

// plainModule judges a module without any part of the scheme. Where the quantised
// weight has the plain one's name, only its dtype tells a lost scale from a plain
// weight; without a header the scale is taken for lost.
func (j *judgement) plainModule(inv checkpoint.Inventory, f *form, s *checkpoint.Stack, m checkpoint.Module) bool {
	if f.plainAllowed && f.packs(inv, m) {
		j.lacking = append(j.lacking, lack{m.Name, j.absent(inv, f, m)})
	}
	if f.plainAllowed || !m.Has("weight") || !j.meant(s, m.Name) {
		return false
	}
	if f.weight != "weight" {
		return true
	}
	if t, here := inv.Tensor(m.Tensor("weight")); here && t.DType.Plain() {
		return len(t.Shape) != 1 // a norm is never quantised
	}
	lacks := lack{module: m.Name}
	for _, group := range f.needs {
		lacks.parts = append(lacks.parts, group[0])
	}
	j.lacking = append(j.lacking, lacks)
	return false
}

// pass returns the finding of a check that found nothing: a pass, unless some
// modules could not be judged.
func (j *judgement) pass(format string, a ...any) gates.Finding {
	f := gates.Pass(format, a...)
	if len(j.unsure) == 0 {
		return f
	}
	return with(gates.Skip("not verified: %s: %s; for the rest, %s", plural(len(j.unsure), "module"), gates.Printable(j.why, 120), f.Summary()), j.unsure)
}

// meant reports whether the declaration means this module: a linear layer of the
// decoder that is not excluded.
func (j *judgement) meant(s *checkpoint.Stack, name string) bool {
	if s == nil || !strings.HasPrefix(name, s.Prefix+".") || j.rules.exclude.loosely(name) {
		return false
	}
	if j.rules.include != nil && !j.rules.include(name) {
		return false
	}
	last := lastWord(name)
	if last == "out_proj" { // of an attention; what a state-space mixer has is left plain by many
		parent := lastWord(strings.TrimSuffix(name, ".out_proj"))
		return parent == "self_attn" || parent == "attn" || parent == "attention"
	}
	return linearNames[last] || j.rules.routers && j.linearRouters && (last == "gate" || last == "router")
}

// linearRouterTypes are the model types whose router is an ordinary linear layer, so
// that targets mean it unless it is excluded. Others, such as DeepSeek's, have a
// router of a class of its own.
var linearRouterTypes = setOf(`mixtral qwen2_moe qwen3_moe qwen3_next qwen3_vl_moe qwen3_vl_moe_text qwen3_5_moe qwen3_5_moe_text
	qwen3_omni_moe olmoe phimoe jamba granitemoe`)

// linearNames are the last parts of the names of linear layers that every
// quantiser takes on. Routers, indexers, low-rank helpers and heads are not here:
// leaving them plain without a word is usual.
var linearNames = setOf(`q_proj k_proj v_proj o_proj qkv_proj gate_proj up_proj down_proj gate_up_proj
	w1 w2 w3 wqkv wo fc1 fc2 out_proj c_attn c_proj query_key_value dense_h_to_4h dense_4h_to_h
	q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj att_proj attn_out ff_proj ff_out`)

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for n := range strings.FieldsSeq(words) {
		out[n] = true
	}
	return out
}

// names returns the modules of a list.
func names(list []lack) []string {
	var out []string
	for _, l := range list {
		out = append(out, l.module)
	}
	return out
}

// lost returns how often each part is missing, most often first, in words.
func lost(list []lack) string {
	count := map[string]int{}
	for _, l := range list {
		for _, p := range l.parts {
			count[p]++
		}
	}
	parts := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return strings.Join(parts, ", ")
}
