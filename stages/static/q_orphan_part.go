package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.orphan_part",
	Doc: "no scale or zero point stands without its weight\n\nHalf a pair means that the other half was lost or renamed; " +
		"loaders that are not strict drop it without a word.",
	Does:  whenUnknownTensor,
	Since: since, Cost: pass,
	Modes:  []string{"q.orphan_part"},
	Faults: []string{"fp8-scale-alone", "gptq-scales-alone"},
	Causes: []string{"the weight was lost or renamed", "a merge joined two exports"},
	Next:   []string{"compare the index with the base model's", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		j, f, ok := judgeQuant(inv)
		if !ok {
			return f, nil
		}
		if len(j.orphans) > 0 {
			bad := names(j.orphans)
			return with(gates.Fail("%s store parts of %s without %s: %s", share(inv, bad, "module"), gates.Quote(j.decl.Method, 40), lost(j.orphans), some(bad)), bad), nil
		}
		return j.pass("every part of %s stands beside its weight", gates.Quote(j.decl.Method, 40)), nil
	},
})
