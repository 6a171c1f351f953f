package gates

import (
	"cmp"
	"fmt"
	"slices"
)

// A Registry is one stage's own list of checks. Each check's file adds itself:
//
//	var _ = checks.Add(gates.Check[Subject]{…})
//
// so there is no second list to keep. The zero Registry is empty and ready.
type Registry[S any] struct {
	checks []Check[S]
}

// Add adds a check and returns its id. It panics when the check is not valid,
// belongs to another stage than the first one added, or is there already: those
// are mistakes in the program.
func (r *Registry[S]) Add(c Check[S]) string {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	for _, o := range r.checks {
		a, _ := StageOf(o.ID)
		b, _ := StageOf(c.ID)
		if o.ID == c.ID || a != b {
			panic(fmt.Sprintf("gates: %s cannot stand beside %s", c.ID, o.ID))
		}
	}
	r.checks = append(r.checks, c)
	return c.ID
}

// All returns the checks, cheapest first, then by id; late ones at the end.
func (r *Registry[S]) All() []Check[S] {
	out := slices.Clone(r.checks)
	slices.SortStableFunc(out, func(a, b Check[S]) int {
		if a.Late != b.Late {
			if b.Late {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Infos returns the documentation of all checks in the order of [Registry.All].
func (r *Registry[S]) Infos() []Info {
	var out []Info
	for _, c := range r.All() {
		out = append(out, c.Info())
	}
	return out
}
