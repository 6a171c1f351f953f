package static

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// config returns the configuration, or the finding that says why there is none to
// judge by; the cfg checks tell whether that is a defect.
func config(inv checkpoint.Inventory) (checkpoint.Config, gates.Finding, bool) {
	c := inv.Config()
	switch {
	case c.Readable():
		return c, gates.Finding{}, true
	case !c.Listed():
		return c, gates.NotApply("no config.json is here"), false
	}
	if p, broken := c.Problem(); broken {
		return c, gates.NotApply("config.json cannot be read (%s): see static/cfg.parse", p.Detail), false
	}
	return c, gates.NotApply("config.json is listed but not here"), false
}

// index returns the index, or the finding that says why there is none to judge.
func index(inv checkpoint.Inventory) (checkpoint.Index, gates.Finding, bool) {
	x := inv.Index()
	switch {
	case x.Readable():
		return x, gates.Finding{}, true
	case !x.Listed():
		return x, gates.NotApply("no index is here"), false
	}
	if _, n := x.Problems(unreadable...); n > 0 {
		return x, gates.NotApply("%s cannot be read: see static/idx.parse", x.File()), false
	}
	return x, gates.NotApply("%s is listed but not here", x.File()), false
}

// unreadable are the flaws that leave nothing of an index to judge.
var unreadable = []checkpoint.Flaw{
	checkpoint.FlawPointer, checkpoint.FlawUnreadable, checkpoint.FlawTooLarge, checkpoint.FlawSyntax,
	checkpoint.FlawTooDeep, checkpoint.FlawTrailing, checkpoint.FlawShape, checkpoint.FlawDuplicate,
}

// tensorNames returns the names of the tensors, or why they are not known.
func tensorNames(inv checkpoint.Inventory) ([]string, gates.Finding, bool) {
	if names := inv.Names(); len(names) > 0 {
		return names, gates.Finding{}, true
	}
	if x, f, ok := index(inv); x.Listed() && !ok {
		return nil, f, false
	} else if ok {
		return nil, gates.NotApply("the index lists no tensor: see static/idx.empty"), false
	}
	return nil, gates.NotApply("neither an index nor a shard header is here, so the tensors are not known"), false
}

// headers returns the headers that were read, or why there are none.
func headers(inv checkpoint.Inventory) ([]checkpoint.Header, gates.Finding, bool) {
	if h := inv.Headers(); len(h) > 0 {
		return h, gates.Finding{}, true
	}
	return nil, noHeader(inv), false
}

func noHeader(inv checkpoint.Inventory) gates.Finding {
	switch w := inv.Weights(); {
	case len(w.Pointers) > 0 && len(w.Landed) == 0:
		return gates.NotApply("the shards are Git LFS pointers: no shard is here yet")
	case len(w.Landed) > 0:
		return gates.NotApply("no header of the shards can be read here")
	}
	return gates.NotApply("no shard is here yet")
}

// lastWord returns what stands behind the last dot of a module's name.
func lastWord(module string) string { return module[strings.LastIndexByte(module, '.')+1:] }

// plural returns "1 tensor", "2 tensors".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// some returns the first few of the names in a line, and how many more there are.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// A crowd is the names that share a pattern.
type crowd struct {
	pattern string
	names   []string
	layers  []int
}

// crowds gathers names by pattern, most names first: 43 layers that lack the same
// thing are one line.
func crowds(names []string) []crowd {
	at := map[string]int{}
	var out []crowd
	for _, n := range names {
		pattern, layer := checkpoint.Generalise(n)
		i, ok := at[pattern]
		if !ok {
			i = len(out)
			at[pattern] = i
			out = append(out, crowd{pattern: pattern})
		}
		out[i].names = append(out[i].names, n)
		if layer >= 0 {
			out[i].layers = append(out[i].layers, layer)
		}
	}
	slices.SortStableFunc(out, func(a, b crowd) int { return cmp.Compare(len(b.names), len(a.names)) })
	return out
}

// String returns the crowd in a line: "model.layers.*.mlp.down_proj, layers 3-45 (43)".
func (c crowd) String() string {
	switch {
	case len(c.names) == 1:
		return c.names[0]
	case len(c.layers) == 0:
		return fmt.Sprintf("%s (%d)", c.pattern, len(c.names))
	}
	return fmt.Sprintf("%s, layers %s (%d)", c.pattern, ranges(c.layers), len(c.names))
}

// with adds the crowds of the names to a finding as evidence.
func with(f gates.Finding, names []string) gates.Finding {
	list := crowds(names)
	for i, c := range list {
		if i == 8 {
			return f.With("… and %d more patterns", len(list)-i)
		}
		f = f.With("%s", c)
	}
	return f
}

// ranges writes numbers as "0-3,7".
func ranges(numbers []int) string {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		} else {
			parts = append(parts, fmt.Sprint(numbers[i]))
		}
		if i = j + 1; len(parts) == 12 && i < len(numbers) {
			return strings.Join(parts, ",") + ",…"
		}
	}
	return strings.Join(parts, ",")
}

// share says in how many layers of a stack the names are: "43 of 61 layers", or
// how many names there are when they have no layer.
func share(inv checkpoint.Inventory, names []string, noun string) string {
	s := decoder(inv)
	if s == nil {
		return plural(len(names), noun)
	}
	layers := map[int]bool{}
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, s.Prefix+"."); ok {
			_, layer := checkpoint.Generalise(rest)
			layers[layer] = true
		}
	}
	if len(layers) == 0 {
		return plural(len(names), noun)
	}
	return fmt.Sprintf("%s in %d of %d layers", plural(len(names), noun), len(layers), len(s.Layers))
}
