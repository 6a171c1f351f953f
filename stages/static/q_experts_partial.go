package static

import (
	"context"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.experts_partial",
	Doc: "a scale that some experts of a layer have, all of them have\n\nExperts that calibration never routed to got no activation scale: one over " +
		"nothing, so NaN and empty answers, on those prompts only that reach them (vLLM 45212).",
	Does:  whenPartMissing,
	Since: since, Cost: pass,
	Modes:  []string{"q.experts_partial"},
	Faults: []string{"input-scale-of-some", "optional-scale-of-some"},
	Causes: []string{"calibration data never reached these experts", "a shard was lost or a merge took some experts from another export"},
	Next:   []string{"calibrate so that every expert is reached, or fill the missing activation scales from the layer's largest", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		j, f, ok := judgeQuant(inv)
		if !ok {
			return f, nil
		}
		rows := expertRows(j, inv)
		var bad []string
		for _, r := range rows {
			for _, part := range r.partial() {
				for _, m := range r.experts {
					if !m.Has(part) {
						bad = append(bad, m.Tensor(part))
					}
				}
			}
		}
		switch {
		case len(rows) == 0:
			return gates.NotApply("no quantised experts are stored one by one"), nil
		case len(bad) > 0:
			slices.Sort(bad)
			return with(gates.Fail("%s absent that other experts of the same layer have: %s", plural(len(bad), "tensor"), some(bad)), bad), nil
		}
		return j.pass("%s of experts have their parts alike", plural(len(rows), "row")), nil
	},
})

// An expertRow is one projection of all experts of one layer.
type expertRow struct {
	experts []checkpoint.Module
}

// expertRows gathers the quantised experts by layer and projection.
func expertRows(j judgement, inv checkpoint.Inventory) []*expertRow {
	at := map[string]*expertRow{}
	var rows []*expertRow
	for _, m := range inv.Modules() {
		begin := strings.Index(m.Name, ".experts.")
		if begin < 0 || j.rules.exclude.strictly(m.Name) {
			continue
		}
		number, tail, ok := strings.Cut(m.Name[begin+len(".experts."):], ".")
		f := j.rules.of(m.Name)
		if !ok || strings.Trim(number, "0123456789") != "" || f.weightOf(m) == "" || !slices.ContainsFunc(f.marks, m.Has) {
			continue
		}
		key := m.Name[:begin] + "." + tail
		r := at[key]
		if r == nil {
			r = &expertRow{}
			at[key] = r
			rows = append(rows, r)
		}
		r.experts = append(r.experts, m)
	}
	return rows
}

// partial returns the parts that some experts have and others lack; a bias is none
// of the scheme's.
func (r *expertRow) partial() []string {
	count := map[string]int{}
	for _, m := range r.experts {
		for _, p := range m.Parts {
			count[p]++
		}
	}
	var out []string
	for p, n := range count {
		if n < len(r.experts) && p != "bias" {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
