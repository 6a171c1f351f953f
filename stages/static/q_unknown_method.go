package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.unknown_method",
	Doc: "the declared quantisation method is one that is known\n\nA home-made method needs the code of whoever made it; no engine loads it by itself, and nothing here " +
		"can say whether its tensors are complete.",
	Since: since, Cost: glance,
	Modes:  []string{"q.unknown_method"},
	Faults: []string{"home-made", "no-method"},
	Causes: []string{"a method of a research project or of a fork", "quant_method was misspelt or left out"},
	Next:   []string{"ask the publisher which engine loads it; the q checks cannot verify it", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		list := inv.Declarations()
		if len(list) == 0 {
			return gates.NotApply("nothing declares a quantisation"), nil
		}
		switch d := list[0]; {
		case d.Method == "":
			return gates.Warn("%s names no method: not verified", d.Where), nil
		case schemeOf(d.Method) != nil:
			return gates.Pass("%s is covered", gates.Quote(d.Method, 60)), nil
		case slices.Contains(knownMethods, d.Method):
			return gates.Skip("not verified: %s is known by name, what it stores is not covered", gates.Quote(d.Method, 60)), nil
		default:
			return gates.Warn("quant_method %s is not known: not verified", gates.Quote(d.Method, 60)), nil
		}
	},
})
