package static

import (
	"context"
	"encoding/binary"

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

// appendParts appends what the headers say of a module's parts: all that a judgement of
// them can depend on besides the module's form.
func appendParts(to []byte, inv checkpoint.Inventory, m checkpoint.Module) []byte {
	for _, part := range m.Parts {
		t, here := inv.Tensor(m.Tensor(part))
		to = append(append(to, part...), 0)
		if !here {
			continue
		}
		to = append(append(to, t.DType...), 0)
		for _, n := range t.Shape {
			to = binary.AppendVarint(to, n)
		}
		to = append(to, 0)
	}
	return to
}

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
	type likeness struct {
		form  *form
		parts string
	}
	answers := map[likeness]string{} // experts by the thousand are alike
	var parts []byte
	for _, m := range j.whole {
		like := likeness{form: j.rules.of(m.Name)}
		if _, here := inv.Tensor(m.Tensor(like.form.weightOf(m))); !here {
			continue
		}
		looked++
		parts = appendParts(parts[:0], inv, m)
		what, known := answers[likeness{like.form, string(parts)}]
		if !known {
			what = wrong(j, m)
			like.parts = string(parts)
			answers[like] = what
		}
		if what != "" {
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
