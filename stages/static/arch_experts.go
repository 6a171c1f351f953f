package static

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.experts",
	Doc: "every layer with experts has all of them\n\nAn expert that is missing answers with whatever its memory held, on those prompts " +
		"that the router sends to it. Pruned models change the count, and some forget to say so.",
	Does:  whenTensorMissing,
	Since: since, Cost: pass,
	Modes:  []string{"arch.experts"},
	Faults: []string{"count-changed", "one-expert-absent", "stacked-count"},
	Causes: []string{"experts were pruned and config.json was not changed", "a shard was lost", "experts that calibration never reached were dropped"},
	Next:   []string{"compare the expert count in config.json with the index", again},
	Run:    archExperts,
})

func archExperts(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	s, f, ok := decoderOf(inv, c)
	if !ok {
		return f, nil
	}
	want, stated := c.Experts()
	var bad []string
	seen, rows := 0, 0
	for _, l := range s.Layers {
		for pattern, t := range l.Patterns {
			if !strings.Contains(pattern, "experts.*.") || !isWeight(pattern) {
				continue // that a scale is there is asked by the q checks
			}
			rows++
			n := len(slices.Compact(slices.Sorted(slices.Values(t.Numbers))))
			top := slices.Max(t.Numbers) + 1
			if !stated {
				want = max(want, int64(top))
			}
			if seen = max(seen, n); int64(n) != want || int64(top) != want {
				bad = append(bad, fmt.Sprintf("%s.%d.%s (%d of them)", s.Prefix, l.Number, pattern, n))
			}
		}
	}
	stacked, more := stackedExperts(inv, s, want)
	bad, rows = append(bad, more...), rows+stacked
	switch {
	case rows == 0:
		return gates.NotApply("no experts are among the names"), nil
	case len(bad) == 0:
		return gates.Pass("%d experts in each of %s", want, plural(rows, "row")), nil
	}
	slices.Sort(bad)
	return with(gates.Fail("%d experts are wanted, %d of %s have another number: %s", want, len(bad), plural(rows, "row"), some(bad)), bad), nil
}

// isWeight reports whether a pattern is that of a weight in any storage.
func isWeight(pattern string) bool {
	return strings.HasSuffix(pattern, ".weight") || strings.HasSuffix(pattern, ".qweight") || strings.HasSuffix(pattern, ".weight_packed")
}

// stackedExperts judges experts that are stored as one tensor: their number is
// its first dimension, which only the header tells.
func stackedExperts(inv checkpoint.Inventory, s *checkpoint.Stack, want int64) (rows int, bad []string) {
	for _, l := range s.Layers {
		for pattern := range l.Patterns {
			if !strings.Contains(pattern, "experts.gate_up_proj") && !strings.Contains(pattern, "experts.down_proj") &&
				!strings.Contains(pattern, "switch_mlp.") || strings.Contains(pattern, "shared_experts") {
				continue
			}
			name := fmt.Sprintf("%s.%d.%s", s.Prefix, l.Number, pattern)
			t, ok := inv.Tensor(name)
			if !ok || len(t.Shape) < 2 || want == 0 {
				continue
			}
			rows++
			if t.Shape[0] != want {
				bad = append(bad, fmt.Sprintf("%s holds %d", name, t.Shape[0]))
			}
		}
	}
	return rows, bad
}
