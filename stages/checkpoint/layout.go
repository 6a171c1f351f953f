package checkpoint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Module is the part of a model that owns tensors, such as one linear layer.
type Module struct {
	// Name is the module's full name.
	Name string
	// Parts are what stands behind the name, such as "weight" or "weight_scale";
	// parts that begin with "_" are joined without a dot.
	Parts []string
	full  []string // the tensors' whole names, in the order of Parts
}

// Has reports whether the module stores the part.
func (m Module) Has(part string) bool { return slices.Contains(m.Parts, part) }

// Tensor returns the full name of one of its tensors.
func (m Module) Tensor(part string) string {
	if i := slices.Index(m.Parts, part); i >= 0 && i < len(m.full) {
		return m.full[i]
	}
	if strings.HasPrefix(part, "_") {
		return m.Name + part
	}
	return m.Name + "." + part
}

// gluedParts are parts without a dot before them: stacked experts in MXFP4, and
// the attention of older frameworks.
var gluedParts = []string{"_blocks", "_scales", "_proj_bias"}

// splitName cuts a tensor's name into its module and part.
func splitName(name string) (module, part string) {
	if i := strings.Index(name, ".weight."); i >= 0 {
		return name[:i], name[i+1:] // weight.absmax and its like
	}
	if m, ok := strings.CutSuffix(name, ".weight_scales"); ok {
		return m, "weight_scales" // EETQ's own part, not scales of a stack
	}
	for _, g := range gluedParts {
		if strings.HasSuffix(name, g) && len(name) > len(g) {
			cut := len(name) - len(g)
			if g == "_proj_bias" {
				cut += len("_proj")
			}
			return name[:cut], name[cut:]
		}
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// A Stack is a numbered row of layers below one prefix.
type Stack struct {
	// Prefix is what stands before the number, such as "model.layers".
	Prefix string
	// Layers are in the order of their numbers.
	Layers []*Layer
	names  int
	at     map[int]*Layer
}

// Layer returns the layer of that number, or nil.
func (s *Stack) Layer(number int) *Layer { return s.at[number] }

// A Layer is one layer of a stack: its tensors by pattern. A pattern is what
// stands behind the layer's number, with numbers below it replaced by "*".
type Layer struct {
	Number   int
	Patterns map[string]*Tally
}

// A Tally counts the tensors of one pattern in one layer.
type Tally struct {
	// Count is the number of tensors.
	Count int
	// Numbers are the first numbers inside the pattern, such as the experts'; nil
	// when it has none. They are in the order of the names.
	Numbers []int
}

type layout struct {
	modules []Module
	stacks  []*Stack
}

func newLayout(names []string) *layout {
	l := &layout{}
	moduleAt := make(map[string]int, len(names)/2)
	stackAt := map[string]*Stack{}
	for _, name := range names {
		m, part := splitName(name)
		i, ok := moduleAt[m]
		if !ok {
			i = len(l.modules)
			moduleAt[m] = i
			l.modules = append(l.modules, Module{Name: m})
		}
		l.modules[i].Parts = append(l.modules[i].Parts, part)
		l.modules[i].full = append(l.modules[i].full, name)
		l.place(stackAt, name)
	}
	for _, s := range l.stacks {
		slices.SortFunc(s.Layers, func(a, b *Layer) int { return cmp.Compare(a.Number, b.Number) })
	}
	slices.SortStableFunc(l.stacks, func(a, b *Stack) int { return cmp.Compare(b.names, a.names) })
	return l
}

// place files a name under its stack and layer, if it has a number.
func (l *layout) place(stackAt map[string]*Stack, name string) {
	begin, end, number := firstNumber(name, 0)
	if begin < 2 || end >= len(name) {
		return
	}
	prefix, rest := name[:begin-1], name[end+1:]
	s := stackAt[prefix]
	if s == nil {
		s = &Stack{Prefix: prefix, at: map[int]*Layer{}}
		stackAt[prefix] = s
		l.stacks = append(l.stacks, s)
	}
	s.names++
	layer := s.at[number]
	if layer == nil {
		layer = &Layer{Number: number, Patterns: map[string]*Tally{}}
		s.at[number] = layer
		s.Layers = append(s.Layers, layer)
	}
	pattern, inner := star(rest)
	t := layer.Patterns[pattern]
	if t == nil {
		t = &Tally{}
		layer.Patterns[pattern] = t
	}
	t.Count++
	if inner >= 0 {
		t.Numbers = append(t.Numbers, inner)
	}
}

// star replaces the numbers in a name by "*" and returns the first of them, -1
// when there is none.
func star(name string) (pattern string, first int) {
	begin, end, first := firstNumber(name, 0)
	if begin < 0 {
		return name, -1
	}
	var b strings.Builder
	last := 0
	for begin >= 0 {
		b.WriteString(name[last:begin])
		b.WriteByte('*')
		last = end
		begin, end, _ = firstNumber(name, end)
	}
	b.WriteString(name[last:])
	return b.String(), first
}

// firstNumber finds the first dotted component from byte `from` on that is a
// number; begin is -1 when there is none.
func firstNumber(name string, from int) (begin, end, number int) {
	for i := from; i < len(name); {
		j := strings.IndexByte(name[i:], '.')
		if j < 0 {
			j = len(name)
		} else {
			j += i
		}
		if c := name[i:j]; c != "" && c[0] >= '0' && c[0] <= '9' && len(c) < 8 {
			if n, err := strconv.Atoi(c); err == nil {
				return i, j, n
			}
		}
		i = j + 1
	}
	return -1, -1, -1
}

// Generalise replaces the numbered components of a name by "*" and returns the
// first number, -1 when there is none: it turns a name into its pattern and layer.
func Generalise(name string) (pattern string, layer int) { return star(name) }
