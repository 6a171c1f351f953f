package static

import (
	"context"
	"fmt"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.tensor_not_in_shard",
	Doc: "every tensor that the index lists is stored in the shard that it names\n\nAn FP8 repack of a 274B model listed a block scale " +
		"for 43 layers which its shards did not hold. The server came up healthy and its answers were wrong.",
	Does:  whenNotInShard,
	Since: since, Cost: deep,
	Modes:  []string{"idx.tensor_not_in_shard"},
	Faults: []string{"other-shard", "scale-not-stored"},
	Causes: []string{
		"shards and index come from different exports",
		"a repack that wrote the index before it dropped tensors",
	},
	Next: []string{"download the index and the named shards again from one revision", again},
	Run:  tensorNotInShard,
})

func tensorNotInShard(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	x, f, ok := index(inv)
	if !ok {
		return f, nil
	}
	stored := storedNames(inv)
	if len(stored) == 0 {
		return noHeader(inv), nil
	}
	var lost []string
	looked := 0
	for _, e := range x.Entries() {
		in, read := stored[e.Shard]
		if !read {
			continue
		}
		looked++
		if !in[e.Tensor] {
			lost = append(lost, e.Tensor)
		}
	}
	if len(lost) == 0 {
		return gates.Pass("all %d tensors listed in %s are stored%s", looked, plural(len(stored), "shard"), unread(inv, len(stored))), nil
	}
	f = gates.Fail("%s listed but not stored: %s", share(inv, lost, "tensor"), some(lost))
	f = with(f, lost)
	if t, ok := inv.Tensor(lost[0]); ok {
		f = f.With("%s is stored in %s instead", lost[0], t.Shard)
	}
	return f, nil
}

// storedNames returns the tensors of each shard whose header could be read.
func storedNames(inv checkpoint.Inventory) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, h := range inv.Headers() {
		if _, broken := h.Problems(closed...); broken > 0 {
			continue
		}
		in := make(map[string]bool, len(h.Tensors()))
		for _, t := range h.Tensors() {
			in[t.Name] = true
		}
		out[h.Shard()] = in
	}
	return out
}

// unread says how many of the needed shards could not be looked at.
func unread(inv checkpoint.Inventory, read int) string {
	if needed := len(inv.Weights().Needed); needed > read {
		return fmt.Sprintf("; %d of %d shards are not here to look at", needed-read, needed)
	}
	return ""
}
