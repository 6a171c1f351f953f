package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.shape",
	Doc: "the parts of quantised modules have shapes that fit each other\n\nOne scale for each block, one row of scales for each group: a wrong group size, " +
		"an AWQ file declared as GPTQ, or zero points that were not packed show here and nowhere else before the load.",
	Since: since, Cost: deep,
	Modes:  []string{"q.shape"},
	Faults: []string{"awq-declared-gptq", "ct-group-size", "fp8-block-grid"},
	Does:   whenShapeWrong,
	Causes: []string{"the declaration is of another group or block size than the weights", "AWQ and GPTQ mixed up", "scales were merged or sliced for tensor parallelism"},
	Next:   []string{"compare group_size or weight_block_size with the shapes", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeParts(inv, "shapes fit each other", func(j judgement, m checkpoint.Module) string {
			return j.rules.of(m.Name).badShape(func(part string) []int64 {
				t, here := inv.Tensor(m.Tensor(part))
				if !here || !m.Has(part) {
					return nil
				}
				return append([]int64{}, t.Shape...)
			})
		}), nil
	},
})
