package static

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// A variant is one way in which a scheme stores a linear layer of K inputs and N
// outputs, as a table. The rules are made from it, and docs/SCHEMES.md is printed
// from it: there is no second description.
type variant struct {
	// name is what the declaration calls it.
	name string
	// when says in words which declaration means it.
	when string
	// parts are the tensors; the first is the quantised weight.
	parts []part
	// marks are the parts that only quantised modules have, separated by blanks; ""
	// stands for all but those called "weight".
	marks string
}

// A part is one tensor behind a module's name.
type part struct {
	// name holds the names under which it occurs, separated by "|".
	name string
	// types are the dtypes that it may have, separated by blanks; "" is any.
	types string
	// shape is its shape, alternatives separated by " or "; "" is any. N, K and other
	// letters get their values from the first part that shows them; "/" rounds up.
	shape string
	// when says whether it must be there.
	when when
}

func (p part) names() []string { return strings.Split(p.name, "|") }

// A when is a condition of a declaration under which a part is required. The zero
// when is always; one without a function never requires.
type when struct {
	words string
	holds func(fields gjson.Result) bool
}

// ifStored is the condition of parts that need not be there.
var ifStored = when{words: "if stored"}

func (w when) required(fields gjson.Result) bool {
	return w.words == "" || w.holds != nil && w.holds(fields)
}

// whenSet is the condition that a field is true.
func whenSet(field string) when {
	return when{"if " + field + " is true", func(f gjson.Result) bool { return f.Get(field).Bool() }}
}

// whenIs is the condition that a field has a value.
func whenIs(field, value string) when {
	return when{"if " + field + " is " + value, func(f gjson.Result) bool { return strings.EqualFold(f.Get(field).Str, value) }}
}

// dtypes in which scales occur; 8-bit exponents occur as bytes and as their own type.
const (
	scaleTypes = "F32 BF16 F16"
	e8m0       = "U8 F8_E8M0"
)

// with returns the variant with other dtypes and another shape of one part.
func (v variant) with(name, types, shape string) variant {
	v.parts = slices.Clone(v.parts)
	for i := range v.parts {
		if v.parts[i].name == name {
			v.parts[i].types, v.parts[i].shape = types, shape
		}
	}
	return v
}

// A form is what one variant demands of one module under one declaration.
type form struct {
	parts  []part
	names  [][]string          // of the parts, split once
	types  map[string][]string // the dtypes of those parts that have any
	weight string              // the part that holds the quantised weight
	needs  [][]string          // the further parts; any one of the names in a group will do
	marks  []string            // the parts that only quantised modules have
	values letters
	// plainAllowed says that a module without parts of the scheme is plain by
	// definition, so that plain modules cannot be a defect.
	plainAllowed bool
	// unsure says why modules of this form cannot be judged, "" when they can.
	unsure string
	// mixedUp looks for another scheme's shapes before the table's are compared.
	mixedUp func(shape func(part string) []int64) string
}

// form returns what the variant demands under the fields of a declaration; values
// are the letters of its shapes that the declaration states.
func (v variant) form(fields gjson.Result, known letters) form {
	f := form{parts: v.parts, weight: v.parts[0].names()[0], values: known, marks: strings.Fields(v.marks), types: map[string][]string{}}
	for i, p := range v.parts {
		f.names = append(f.names, p.names())
		if p.types != "" {
			for _, n := range p.names() {
				f.types[n] = strings.Fields(p.types)
			}
		}
		if i > 0 && p.when.required(fields) {
			f.needs = append(f.needs, p.names())
		}
		if v.marks == "" {
			f.marks = append(f.marks, slices.DeleteFunc(p.names(), func(n string) bool { return n == "weight" })...)
		}
	}
	return f
}

// weightOf returns the part of a module that is the quantised weight, "" when it
// has none.
func (f *form) weightOf(m checkpoint.Module) string {
	for _, n := range f.names[0] {
		if m.Has(n) {
			return n
		}
	}
	return ""
}

// packs reports whether the header shows the weight in a dtype of this form that no
// plain weight has.
func (f *form) packs(inv checkpoint.Inventory, m checkpoint.Module) bool {
	t, here := inv.Tensor(m.Tensor(f.weight))
	return here && m.Has(f.weight) && len(f.needs) > 0 && f.parts[0].types != "" && !t.DType.Plain() && f.badType(f.weight, t.DType) == ""
}

// notCovered is the form of modules that cannot be judged.
func notCovered(format string, a ...any) form {
	return form{unsure: fmt.Sprintf(format, a...), parts: []part{{name: "weight"}}, names: [][]string{{"weight"}}}
}

// badType returns what is wrong with the dtype of a part, "" when nothing is.
func (f *form) badType(name string, t checkpoint.DType) string {
	allowed, ruled := f.types[name]
	if ruled && !slices.Contains(allowed, string(t)) {
		return fmt.Sprintf("%s is %s, want %v", name, t, allowed)
	}
	return ""
}

// badShape returns what is wrong with the shapes of a module, "" when nothing is; a
// part that is not there has a nil shape.
func (f *form) badShape(shape func(part string) []int64) string {
	if f.mixedUp != nil {
		if what := f.mixedUp(shape); what != "" {
			return what
		}
	}
	known := f.values.clone()
	var weight, lead []int64
	for i, p := range f.parts {
		if p.shape == "" {
			continue
		}
		for _, name := range f.names[i] {
			got := shape(name)
			if got == nil {
				continue
			}
			if i == 0 {
				weight = got
				lead = leading(got, p.shape)
			}
			if want, ok := known.fits(p.shape, got, lead); !ok {
				return fmt.Sprintf("%s is %v, want %s for a weight %v", name, got, want, weight)
			}
			break
		}
	}
	return ""
}

// bound returns what the letters of the shapes stand for in one module, as far as its
// weight tells.
func (f *form) bound(shape func(part string) []int64) letters {
	known := f.values.clone()
	for _, name := range f.names[0] {
		if got := shape(name); got != nil && f.parts[0].shape != "" {
			known.fits(f.parts[0].shape, got, leading(got, f.parts[0].shape))
			break
		}
	}
	return known
}

// leading returns the axes that stand before those of a pattern: those of experts
// that are stacked into one tensor.
func leading(shape []int64, pattern string) []int64 {
	first, _, _ := strings.Cut(pattern, " or ")
	if n := len(axes(first)); len(shape) > n {
		return shape[:len(shape)-n]
	}
	return nil
}

func axes(pattern string) []string {
	inner := strings.Trim(pattern, "[] ")
	if inner == "" {
		return nil
	}
	return strings.Split(inner, ", ")
}

// letters are what the letters of shapes stand for.
type letters map[string]int64

func (v letters) clone() letters {
	out := letters{}
	for k, n := range v {
		out[k] = n
	}
	return out
}

// String returns the values in a line, such as "bits 4, g 128".
func (v letters) String() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(v)) {
		out = append(out, fmt.Sprintf("%s %d", k, v[k]))
	}
	return strings.Join(out, ", ")
}

// fits reports whether a shape is one of the pattern's alternatives, and binds the
// letters that it shows for the first time. Axes of size one do not count: writers
// differ in whether they keep them. want is what it should have been.
func (v letters) fits(pattern string, got, lead []int64) (want string, ok bool) {
	var wants []string
	for alternative := range strings.SplitSeq(pattern, " or ") {
		list := axes(alternative)
		shape, sure := v.solve(list, got, lead)
		if !sure || len(list) == 0 && len(lead) > 0 {
			return "", true // how scalars of stacked experts are stacked differs
		}
		if slices.Equal(squeeze(shape), squeeze(got)) || slices.Equal(squeeze(slices.Concat(lead, shape)), squeeze(got)) {
			return "", true
		}
		wants = append(wants, fmt.Sprint(shape))
	}
	return strings.Join(slices.Compact(wants), " or "), false
}

// solve evaluates the axes. An axis with a letter that is not known yet gives it
// its value, if the shape has as many axes; if not, nothing can be said and sure is
// false.
func (v letters) solve(list []string, got, lead []int64) (shape []int64, sure bool) {
	at := len(got) - len(list)
	for i, axis := range list {
		n, ok := v.axis(axis)
		if !ok {
			if at != 0 && at != len(lead) || at+i >= len(got) {
				return nil, false
			}
			if n = got[at+i]; !v.bind(axis, n) {
				return nil, false
			}
		}
		shape = append(shape, n)
	}
	return shape, true
}

// beyondAxis bounds the numbers in shapes, so that arithmetic cannot overflow.
const beyondAxis = 1 << 40

// axis evaluates one expression such as "K*bits/32"; ok is false when it holds a
// letter without a value. A group size of nothing is one group over all inputs.
func (v letters) axis(expr string) (n int64, ok bool) {
	n = 1
	for _, t := range terms(expr) {
		x, ok := v.value(t.name)
		if !ok || x <= 0 || x > beyondAxis || n > beyondAxis {
			return 0, false
		}
		if t.over {
			n = cdiv(n, x)
		} else {
			n *= x
		}
	}
	return n, n <= beyondAxis
}

func (v letters) value(name string) (int64, bool) {
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return n, true
	}
	n, ok := v[name]
	if ok && name == "g" && n <= 0 {
		n, ok = v["K"]
	}
	return n, ok
}

// bind solves an expression for its first letter: "K/16" that is 8 makes K 128.
func (v letters) bind(expr string, n int64) bool {
	list := terms(expr)
	if len(list) == 0 || n <= 0 || n > beyondAxis {
		return false
	}
	for _, t := range slices.Backward(list[1:]) {
		x, ok := v.value(t.name)
		if !ok || x <= 0 || x > 1<<20 || n > beyondAxis {
			return false
		}
		if t.over {
			n *= x
		} else {
			n /= x
		}
	}
	if _, known := v.value(list[0].name); known {
		return false
	}
	v[list[0].name] = n
	return true
}

// A term is one factor of an expression, or a divisor.
type term struct {
	name string
	over bool
}

func terms(expr string) []term {
	var out []term
	over := false
	for {
		i := strings.IndexAny(expr, "*/")
		if i < 0 {
			return append(out, term{expr, over})
		}
		out = append(out, term{expr[:i], over})
		over, expr = expr[i] == '/', expr[i+1:]
	}
}
