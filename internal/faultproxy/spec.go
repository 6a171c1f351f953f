package faultproxy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// An armed fault is one of a proxy's specs: what it does and when.
type armed struct {
	acts
	when conditions
}

func (a armed) applies(x *exchange) bool {
	if a.scope == nil && !x.generates || a.scope != nil && !a.scope(x) {
		return false
	}
	return a.when.hold(x)
}

// responds returns what answers x in the upstream's place, if this fault does.
func (a armed) responds(x *exchange) respondFunc {
	switch {
	case a.respond == nil && a.admit == nil || !a.applies(x):
		return nil
	case a.admit != nil:
		return a.admit(x)
	}
	return a.respond
}

// Check says what is wrong with specs, all of it in one error; nil where nothing is.
func Check(specs []string) error {
	_, err := arm(specs)
	return err
}

// arm reads specs: name, or name:param=value,param=value. All complaints come in
// one error.
func arm(specs []string) ([]armed, error) {
	var list []armed
	var wrong []error
	for _, s := range specs {
		a, err := parseSpec(s)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("fault %q: %w", s, err))
		}
		list = append(list, a)
	}
	return list, errors.Join(wrong...)
}

func parseSpec(s string) (armed, error) {
	id, rest, hasParams := strings.Cut(strings.TrimSpace(s), ":")
	f, ok := lookup(id)
	if !ok {
		var ids []string
		for _, f := range registry {
			ids = append(ids, f.ID)
		}
		return armed{}, fmt.Errorf("there is no fault %q; nearest is %q", id, nearest(id, ids))
	}
	own := slices.Clone(f.Params)
	for _, c := range Conditions() {
		if !slices.ContainsFunc(own, func(p Param) bool { return p.Name == c.Name }) {
			own = append(own, c)
		}
	}
	o := options{}
	if hasParams {
		if err := o.read(rest, own); err != nil {
			return armed{}, err
		}
	}
	for _, p := range own {
		if _, given := o[p.Name]; !given && p.Default != "" {
			o[p.Name] = p.Default
		}
	}
	return armed{acts: f.build(o), when: newConditions(o, f.Params)}, nil
}

func (o options) read(text string, known []Param) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return fmt.Errorf("%q is not of the form param=value", pair)
		}
		i := slices.IndexFunc(known, func(p Param) bool { return p.Name == name })
		if i < 0 {
			var names []string
			for _, p := range known {
				names = append(names, p.Name)
			}
			return fmt.Errorf("there is no parameter %q; nearest is %q", name, nearest(name, names))
		}
		if _, twice := o[name]; twice {
			return fmt.Errorf("parameter %s is given twice", name)
		}
		if err := known[i].check(value); err != nil {
			return err
		}
		o[name] = value
	}
	return nil
}

// nearest returns the name with the smallest edit distance; the first in the
// alphabet among equals.
func nearest(word string, names []string) string {
	best, least := "", -1
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := smetrics.WagnerFischer(word, n, 1, 1, 1); least < 0 || d < least {
			best, least = n, d
		}
	}
	return best
}
