package static

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/shard.missing",
	Doc: "every shard that the index names is there\n\nAn interrupted download was served: SGLang before July 2026 and older vLLM " +
		"read the files that they find and boot, with the missing layers left as memory was. No shard at all is a state, not a defect. " +
		"Numbering proves nothing: complete checkpoints count from 0 to n of n, or of n+1.",
	Does:  whenShardMissing,
	Since: since, Cost: glance,
	Modes:  []string{"shard.missing"},
	Faults: []string{"one-absent", "ready-to-serve"},
	Causes: []string{"the download stopped", "a stale index after re-sharding or re-quantising"},
	Next:   []string{"download the missing shards from the revision of the index", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		if n := pieceOf(inv); n > 1 {
			return gates.Skip("one shard of %d was given, so what the others hold was not looked at", n).Then("name the folder, or the index"), nil
		}
		if inv.Kind() != checkpoint.Folder {
			return gates.NotApply("only one file was given: a %s", inv.Kind()), nil
		}
		if _, f, ok := index(inv); !ok {
			return f, nil
		}
		w := inv.Weights()
		switch {
		case len(w.Needed) == 0:
			return gates.NotApply("the index names no shard"), nil
		case len(w.Absent) == 0:
			return gates.Pass("%s of %d are there", plural(len(w.Needed), "shard"), len(w.Needed)), nil
		case w.Presence() == checkpoint.NoWeights && !inv.Serving() && !inv.Remote():
			return gates.NotApply("none of the %s is here yet", plural(len(w.Needed), "shard")), nil
		}
		f := gates.Fail("%d of %s are missing: %s", len(w.Absent), plural(len(w.Needed), "shard"), gates.Printable(some(w.Absent), 200))
		if gone := among(inv.Broken(), w.Absent); len(gone) > 0 {
			f = f.With("%s lead nowhere: %s", plural(len(gone), "link"), some(gone))
		}
		return f.With("missing: %s", gates.Printable(strings.Join(w.Absent, " "), 400)), nil
	},
})

var shardNumber = regexp.MustCompile(`-\d{5}-of-(\d{5,6})\.safetensors$`)

// pieceOf returns of how many shards the one that was given says it is, 0 when it is
// whole or more was given.
func pieceOf(inv checkpoint.Inventory) int {
	m := shardNumber.FindStringSubmatch(inv.Name())
	if inv.Kind() != checkpoint.SingleShard || m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // at most six digits
	return n
}

// among returns the names of list that are also in other.
func among(list, other []string) []string {
	return slices.DeleteFunc(list, func(n string) bool { return !slices.Contains(other, n) })
}
