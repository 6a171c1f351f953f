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
	// rules returns what a declaration demands, or why this variant is not covered.
	rules func(d checkpoint.Declaration) (r rules, why string)
	// marks are parts that no plain module has; they betray undeclared quantisation.
	marks []string
}

var schemes []*scheme

func addScheme(s scheme) bool {
	schemes = append(schemes, &s)
	return true
}

// rules are what one declaration demands of the modules.
type rules struct {
	// weight is the part that holds the quantised weight.
	weight string
	// needs are the further parts that each quantised module must have; any one of
	// the names in a group will do.
	needs [][]string
	// marks are the parts that only quantised modules have.
	marks []string
	// exclude matches the modules that are declared plain.
	exclude matcher
	// include, if not nil, tells which modules are meant at all.
	include func(module string) bool
	// routers says that routers count as linear layers of this scheme.
	routers bool
	// plainAllowed says that a module without parts of the scheme is plain by
	// definition, so that plain modules cannot be a defect.
	plainAllowed bool
	// dtypes are the dtypes that a part may have.
	dtypes map[string][]checkpoint.DType
	// shape returns what is wrong with the shapes of a module, "" when nothing is;
	// a part that is not there has a nil shape.
	shape func(shapes func(part string) []int64) string
}

// knownMethods are methods that are known by name and whose tensors are not
// looked at.
var knownMethods = []string{
	"fbgemm_fp8", "quark", "torchao", "hqq", "aqlm", "vptq", "spqr", "quip", "qtip", "eetq", "higgs", "fp_quant", "bitnet",
	"quanto", "exl2", "exl3", "auto-round", "auto_round", "intel/auto-round", "inc", "gguf", "modelslim", "ascend", "marlin", "gptq_marlin",
	"awq_marlin", "bitblas", "sparseml", "mxfp8", "modelopt_fp4", "deepspeedfp", "experts_int8", "tpu_int8", "rtn", "petit_nvfp4",
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
}

// A lack is a module and what it has not got.
type lack struct {
	module string
	parts  []string
}

// judgeQuant applies the declaration to all modules, or says why it cannot.
func judgeQuant(inv checkpoint.Inventory) (j judgement, f gates.Finding, ok bool) {
	decls := inv.Declarations()
	if len(decls) == 0 {
		return j, gates.NotApply("nothing declares a quantisation"), false
	}
	j.decl = decls[0]
	method := gates.Quote(j.decl.Method, 60)
	if _, f, ok := tensorNames(inv); !ok {
		return j, f, false
	}
	s := schemeOf(j.decl.Method)
	if s == nil {
		return j, gates.Skip("not verified: what quant_method %s stores is not covered", method), false
	}
	var why string
	if j.rules, why = s.rules(j.decl); why != "" {
		return j, gates.Skip("not verified: %s: %s", method, gates.Printable(why, 120)), false
	}
	if bad := j.rules.exclude.bad; len(bad) > 0 {
		return j, gates.Skip("not verified: the exclusion %s is written in a form that is not covered", gates.Quote(bad[0], 80)), false
	}
	j.modules(inv)
	return j, f, true
}

func (j *judgement) modules(inv checkpoint.Inventory) {
	s := decoder(inv)
	for _, m := range inv.Modules() {
		marked := slices.ContainsFunc(j.rules.marks, m.Has) || j.complete(m)
		switch {
		case marked:
			j.marked(m)
		case j.plainModule(inv, s, m):
			j.plain = append(j.plain, m.Name)
		}
	}
}

// complete reports whether a module has everything that the scheme needs, under
// whichever names.
func (j *judgement) complete(m checkpoint.Module) bool {
	if len(j.rules.needs) == 0 || !m.Has(j.rules.weight) {
		return false
	}
	for _, group := range j.rules.needs {
		if !slices.ContainsFunc(group, m.Has) {
			return false
		}
	}
	return true
}

// marked judges a module that stores at least one part of the scheme.
func (j *judgement) marked(m checkpoint.Module) {
	if j.rules.exclude.strictly(m.Name) {
		j.ignored = append(j.ignored, m.Name)
		return
	}
	lacks := lack{module: m.Name}
	for _, group := range j.rules.needs {
		if !slices.ContainsFunc(group, m.Has) {
			lacks.parts = append(lacks.parts, group[0])
		}
	}
	switch {
	case !m.Has(j.rules.weight):
		j.orphans = append(j.orphans, lack{m.Name, []string{j.rules.weight}})
	case len(lacks.parts) > 0:
		j.lacking = append(j.lacking, lacks)
	default:
		j.whole = append(j.whole, m)
	}
}

// plainModule judges a module without any part of the scheme. Where the quantised
// weight has the plain one's name, only its dtype tells a lost scale from a plain
// weight; without a header the scale is taken for lost.
func (j *judgement) plainModule(inv checkpoint.Inventory, s *checkpoint.Stack, m checkpoint.Module) bool {
	if j.rules.plainAllowed || !m.Has("weight") || !j.meant(s, m.Name) {
		return false
	}
	if j.rules.weight != "weight" {
		return true
	}
	if t, here := inv.Tensor(m.Tensor("weight")); here && t.DType.Plain() {
		return len(t.Shape) != 1 // a norm is never quantised
	}
	lacks := lack{module: m.Name}
	for _, group := range j.rules.needs {
		lacks.parts = append(lacks.parts, group[0])
	}
	j.lacking = append(j.lacking, lacks)
	return false
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
	last := name[strings.LastIndexByte(name, '.')+1:]
	return linearNames[last] || j.rules.routers && (last == "gate" || last == "router")
}

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
