package static

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.ignore_no_match",
	Doc: "every exclusion and target names something that is stored\n\nA prefix was renamed and the list was not: the engine looks for modules that " +
		"are not there and quantises those that should stay plain (vLLM 54547).",
	Since: since, Cost: pass,
	Modes:  []string{"q.ignore_no_match"},
	Faults: []string{"full-name", "renamed-prefix-pattern", "target-without-match"},
	Causes: []string{"the model's prefix was renamed between quantisation and export (model.language_model. and language_model.model.)", "the list comes from another model"},
	Next:   []string{"write the names as they are stored", again},
	Run:    qIgnoreNoMatch,
})

func qIgnoreNoMatch(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	j, f, ok := judgeQuant(inv)
	if !ok {
		return f, nil
	}
	listed := append(append([]string{}, j.rules.exclude.entries...), j.rules.targets...)
	if len(listed) == 0 {
		return gates.NotApply("the declaration names no module"), nil
	}
	present := namesOf(inv)
	var bad []string
	loose := 0
	for _, entry := range listed {
		switch {
		case present.match(entry):
		case anchored(entry) && !present.optional(entry):
			bad = append(bad, entry)
		default:
			loose++
		}
	}
	switch {
	case present.budget < 0:
		return gates.Skip("not verified: the declaration has too many patterns (%s)", plural(len(listed), "name")), nil
	case len(bad) > 0:
		return with(gates.Warn("%d of %s of the declaration match nothing that is stored: %s", len(bad), plural(len(listed), "name"), some(bad)), bad), nil
	case loose > 0:
		return gates.Pass("info: %d of %s of the declaration match nothing here, all of them general ones", loose, plural(len(listed), "name")), nil
	}
	return gates.Pass("%s of the declaration match what is stored", plural(len(listed), "name")), nil
}

// anchored reports whether an entry means one place in one model. Patterns that may
// begin anywhere, single words and class names come from recipes for many models.
func anchored(entry string) bool {
	name, isRegex := strings.CutPrefix(entry, "re:")
	name = strings.TrimLeft(name, "^(?:")
	first, _, dotted := strings.Cut(name, ".")
	if isRegex && strings.HasSuffix(first, "\\") {
		first = first[:len(first)-1]
	}
	return dotted && first != "" && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// A storedSet is the stored modules under every name that a declaration may use.
type storedSet struct {
	exact  map[string]bool
	names  []string
	layers int64
	budget int // comparisons with patterns that may still be made
}

// numbered are experts modules of a stack that may be stored as one.
var numbered = regexp.MustCompile(`\.experts\.[0-9]+\.`)

func namesOf(inv checkpoint.Inventory) *storedSet {
	s := &storedSet{exact: map[string]bool{}, budget: 20_000_000}
	s.layers, _ = inv.Config().Layers()
	add := func(name string) {
		for ; name != "" && !s.exact[name]; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
			s.exact[name] = true
			s.names = append(s.names, name)
		}
	}
	for _, m := range inv.Modules() {
		tail := unwrap(m.Name)
		add(m.Name)
		add(tail)
		last := lastWord(tail)
		if whole := fusedInto[last]; whole != "" {
			add(strings.TrimSuffix(m.Name, last) + whole)
			add(strings.TrimSuffix(tail, last) + whole)
		}
		for _, p := range fused[last] {
			add(strings.TrimSuffix(m.Name, last) + p)
			add(strings.TrimSuffix(tail, last) + p)
		}
	}
	return s
}

// match reports whether an entry names a stored module, or one above it, under any
// of the known renamings.
func (s *storedSet) match(entry string) bool {
	name := strings.TrimSuffix(strings.Trim(entry, "."), ".weight")
	m := matcher{exact: map[string]bool{}, tails: map[string]bool{}}
	m.add(name)
	for name := range m.exact {
		if s.exact[name] || s.exact[unwrap(name)] || s.exact[numbered.ReplaceAllString(unwrap(name), ".experts.")] {
			return true
		}
		if _, layer := checkpoint.Generalise(name); layer < 0 && s.scan(func(n string) bool { return strings.Contains("."+n+".", "."+name+".") }) {
			return true // "mlp.gate" in every layer
		}
		if len(m.starts) == 0 {
			return false
		}
	}
	if len(m.starts) > 0 {
		return s.scan(func(n string) bool { return strings.HasPrefix(n, m.starts[0]) })
	}
	return s.scan(func(n string) bool { return m.matches(n) || anyMatch(m.loose, n) }) || len(m.bad) > 0
}

// scan reports whether any name is meant; once the budget is used up it says yes to
// everything.
func (s *storedSet) scan(meant func(name string) bool) bool {
	if s.budget -= len(s.names); s.budget < 0 {
		return true
	}
	return slices.ContainsFunc(s.names, meant)
}

// besideText are words of parts that a checkpoint may leave out and its declaration
// still lists: towers of other senses, a tied head, drafts, modules without weights.
var besideText = regexp.MustCompile(`lm_head|vis|audio|image|speech|tower|encoder|projector|connector|aligner|merger|resampler|talker|wav|` +
	`mtp|nextn|eh_proj|embed|rotary|norm|act_fn|dropout|bias`)

// optional reports whether the absence of what an entry names is usual.
func (s *storedSet) optional(entry string) bool {
	if besideText.MatchString(entry) {
		return true
	}
	_, layer := checkpoint.Generalise(entry)
	return s.layers > 0 && int64(layer) >= s.layers // a draft behind the decoder's own layers
}
