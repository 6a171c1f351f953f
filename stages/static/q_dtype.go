package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.dtype",
	Doc: "the parts of quantised modules have the dtypes of their scheme\n\nA scale in another dtype, or a weight that was never packed, " +
		"is read as something else.",
	Since: since, Cost: deep,
	Modes:  []string{"q.dtype"},
	Faults: []string{"fp8-weight-int8", "gptq-qweight-float"},
	Causes: []string{"another scheme's tensors under this declaration", "a conversion cast all tensors to one dtype"},
	Next:   []string{"export again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeParts(inv, "dtypes fit the scheme", func(j judgement, m checkpoint.Module) string {
			form := j.rules.of(m.Name)
			for _, part := range m.Parts {
				if t, here := inv.Tensor(m.Tensor(part)); here {
					if bad := form.badType(part, t.DType); bad != "" {
						return bad
					}
				}
			}
			return ""
		}), nil
	},
})

// judgeParts asks each whole module whose headers are here what is wrong with it.
func judgeParts(inv checkpoint.Inventory, claim string, wrong func(judgement, checkpoint.Module) string) gates.Finding {
	j, f, ok := judgeQuant(inv)
	if !ok {
		return f
	}
	if len(inv.Headers()) == 0 {
		return noHeader(inv)
	}
	var bad []string
	first, looked := "", 0
	for _, m := range j.whole {
		if _, here := inv.Tensor(m.Tensor(j.rules.of(m.Name).weightOf(m))); !here {
			continue
		}
		looked++
		if what := wrong(j, m); what != "" {
			bad = append(bad, m.Name)
			if first == "" {
				first = m.Name + ": " + what
			}
		}
	}
	switch {
	case len(bad) > 0:
		return with(gates.Fail("%s of %d: %s", share(inv, bad, "module"), looked, first), bad)
	case looked == 0 && len(j.unsure) == 0:
		return gates.NotApply("no quantised module is among the headers")
	}
	return j.pass("%s: %s", plural(looked, "module"), claim)
}
