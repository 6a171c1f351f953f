package static

import (
	"context"
	"maps"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/cfg.revision_mixed",
	Doc: "all files were downloaded at one commit\n\nA branch that moves during a download leaves a configuration of one commit beside weights of another; " +
		"so does fetching a single file again later. The hub's client notes the commit of each file in .cache/huggingface/download.",
	Since: since, Cost: glance,
	Modes:  []string{"cfg.revision_mixed"},
	Faults: []string{"config-of-another"},
	Causes: []string{"a file was fetched again after the repository had changed", "the branch moved during the download"},
	Next:   []string{"download all files again with --revision COMMIT", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		of := map[string][]string{} // names by commit
		for name, commit := range inv.Commits() {
			if _, here := inv.File(name); here && decides(name) {
				of[commit] = append(of[commit], name)
			}
		}
		switch len(of) {
		case 0:
			return gates.NotApply("no download notes are beside the files"), nil
		case 1:
			return gates.Pass("all noted files are of one commit"), nil
		}
		f := gates.Warn("the files are of %d commits", len(of))
		for _, commit := range slices.Sorted(maps.Keys(of)) {
			slices.Sort(of[commit])
			f = f.With("%s: %s", commit[:12], some(of[commit]))
		}
		return f, nil
	},
})

// decides reports whether a file takes part in what a server computes: a README of
// another commit does no harm.
func decides(name string) bool {
	return strings.HasSuffix(name, checkpoint.ShardSuffix) || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jinja") || strings.HasSuffix(name, ".model")
}
