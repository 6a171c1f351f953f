package selftest

import (
	"slices"
	"strings"

	"infbench/gates"
)

// conditions are what each fault of stage 3 takes to show, as its own text says: the checks
// must name it so. Faults that show in more than one way, or in none of these, are left out.
var conditions = map[string]gates.Condition{
	"crosstalk": gates.Company, "first-token-wrong": gates.Company, "first-user-only": gates.Company, "batch-size-wrong": gates.Company,
	"context-divided": gates.Company, "mixed-lengths-wrong": gates.Company, "preempt-offset": gates.Company, "duplicated-stream": gates.Company,
	"reordered-stream": gates.Company, "late-arrivals-decay": gates.Company, "drift-in-company": gates.Company, "far-in-company": gates.Company,
	"salad-in-json": gates.Company, "guided-kills": gates.Company, "scores-off": gates.Company,
	"guided-500": gates.Company, "logprobs-500": gates.Company, "company-500": gates.Company, // the first two where the spec says above=1

	"stale-cache": gates.Cache, "evicted-wrong": gates.Cache, "partial-hit-wrong": gates.Cache, "block-edge-wrong": gates.Cache, "boundary": gates.Cache,
	"tenant-tail": gates.Cache, "remembers": gates.Cache, "far-warm": gates.Cache,

	"needle-loss": gates.Depth, "band": gates.Depth, "window-only": gates.Depth, "decoy": gates.Depth, "hangs-deep": gates.Depth, "dies-deep": gates.Depth,
	"declines-deep": gates.Depth, "quiet-kv": gates.Depth, "forget-early": gates.Depth, "drops-turn": gates.Depth, "reasoning-returned": gates.Depth,

	"slow-poison": gates.Time,
}

// Condition returns what the checks of stage 3 say it takes, 0 where they do not.
func (r Row) Condition() gates.Condition {
	var out []gates.Verdict
	for _, v := range r.Verdicts {
		if v.Stage() == gates.Correctness {
			out = append(out, v)
		}
	}
	return gates.ConditionOf(out)
}

// failedBefore reports whether a check of an earlier stage failed: a server that is dead of the
// fault by then is under no condition.
func (r Row) failedBefore(stage gates.Stage) bool {
	return slices.ContainsFunc(r.Verdicts, func(v gates.Verdict) bool { return v.Stage() < stage && v.Status() == gates.Failed })
}

// misnamed says that the row's fault is caught, and that another condition is named than it
// takes; "" where it is named rightly, or not told apart.
func (r Row) misnamed() string {
	id, _, _ := strings.Cut(r.Fault, ":")
	want, known := conditions[id]
	got := r.Condition()
	if !known || r.Unopened != "" || r.last() < 3 || got == want || got == 0 && (r.Real || r.failedBefore(gates.Correctness)) {
		return ""
	}
	name := got.Words()
	if got == 0 {
		name = "under no condition"
	}
	return r.Fault + " is wrong " + want.Words() + ", and the checks say " + name
}
