package baseline

import (
	"fmt"
	"slices"

	"infbench/gates"
	"infbench/record"
)

// Side is one of the two records that are compared.
type Side struct {
	// Name is how a reader knows it, such as its file and run id.
	Name string
	run  record.Run
	perf record.PerfRecord
	data record.Baseline
	lack []string // why it cannot be compared at all
}

// NewSide takes a run as one side. A run without numbers, or one that is no baseline, is a side
// that every comparison refuses.
func NewSide(name string, run record.Run) Side {
	s := Side{Name: name, run: run}
	parts := run.Parts()
	if !parts.Ending.Complete {
		s.lack = append(s.lack, "the run is incomplete: "+parts.Ending.Cause)
	}
	perf, ok := run.Performance()
	if !ok {
		why := "its gates failed, or it stopped before it measured"
		if _, err := parts.Ledger.Gates(); err != nil {
			why = err.Error()
		}
		s.lack = append(s.lack, "it holds no numbers: "+why)
		return s
	}
	s.perf = perf
	if s.data, ok = perf.Baseline(); !ok {
		s.lack = append(s.lack, "it is no baseline: infbench baseline makes one")
		return s
	}
	for _, v := range s.data.Void {
		s.lack = append(s.lack, "its figures are void: "+v)
	}
	return s
}

// Run returns the run of the side.
func (s Side) Run() record.Run { return s.run }

// Refusal is one reason for which two records are not compared.
type Refusal struct {
	// What is the thing that differs, Before and After what each side has of it.
	What, Before, After string
}

// String says the reason with both sides named.
func (r Refusal) String() string {
	if r.Before == r.After {
		return r.What + ": " + r.Before
	}
	return fmt.Sprintf("%s: %s before, %s after", r.What, r.Before, r.After)
}

// Parts that a person may state to be the same on both sides where a record does not know.
var statable = []string{"accelerator"}

// Statable returns what can be stated to be the same.
func Statable() []string { return slices.Clone(statable) }

// refusals returns every reason at once; stated names unknown parts that a person knows to be
// the same.
func refusals(before, after Side, stated []string) []Refusal {
	var out []Refusal
	for _, s := range []struct {
		side Side
		name string
	}{{before, "before"}, {after, "after"}} {
		for _, why := range s.side.lack {
			out = append(out, Refusal{"the side " + s.name + " (" + s.side.Name + ")", why, why})
		}
	}
	if before.perf.IsZero() || after.perf.IsZero() || before.data.Name == "" || after.data.Name == "" {
		return out
	}
	differ := func(what, b, a string) {
		if b != a {
			out = append(out, Refusal{what, b, a})
		}
	}
	differ("workload", before.data.Frozen.Name+" "+short(before.data.Hash), after.data.Frozen.Name+" "+short(after.data.Hash))
	if before.data.Hash == after.data.Hash {
		differ("prompts (another tokenizer, or another list of words)", short(before.data.Materialised), short(after.data.Materialised))
	}
	differ("arrival model", before.perf.Arrival().String(), after.perf.Arrival().String())
	wb, wa := before.perf.Workload(), after.perf.Workload()
	differ("who counted the tokens", string(wb.TokenSource)+wb.TokenizedBy, string(wa.TokenSource)+wa.TokenizedBy)
	differ("output length", forced(wb), forced(wa))
	differ("definitions of the figures", before.perf.Definitions(), after.perf.Definitions())
	differ("cache", cacheOf(before.data), cacheOf(after.data))
	ib, ia := before.run.Parts().Identity.Parts(), after.run.Parts().Identity.Parts()
	out = append(out, samePart("accelerator", ib.Accelerator, ia.Accelerator, stated)...)
	for _, s := range []Side{before, after} {
		for _, v := range s.run.Parts().Ledger.Verdicts() {
			if v.Status() == gates.Failed {
				out = append(out, Refusal{"gates", s.Name + ": " + v.Check() + " failed", s.Name + ": " + v.Check() + " failed"})
			}
		}
	}
	return out
}

// samePart refuses parts that differ, and those that are not known unless they were stated.
func samePart(what string, b, a record.Part, stated []string) []Refusal {
	vb, okB := b.Value()
	va, okA := a.Value()
	switch {
	case okB && okA && vb == va:
		return nil
	case okB && okA:
		return []Refusal{{what, vb, va}}
	case slices.Contains(stated, what):
		return nil
	}
	name := func(v string, ok bool) string {
		if !ok {
			return "unknown"
		}
		return v
	}
	return []Refusal{{what + " (unknown counts as different; --same " + what + " states that it is not)", name(vb, okB), name(va, okA) + " "}}
}

func forced(w record.Workload) string {
	if w.ForcedLength {
		return "forced"
	}
	return "free"
}

// cacheOf says how the cells stood to the cache: cold and warm, and whether that is proven.
func cacheOf(b record.Baseline) string {
	cold, warm := "no cold cells", "no warm cells"
	for _, c := range b.Cells {
		word := "by construction"
		if c.Proven {
			word = "proven"
		}
		if c.Warm {
			warm = "warm " + word
		} else {
			cold = "cold " + word
		}
	}
	return cold + ", " + warm
}

func short(hash string) string {
	if len(hash) > 19 {
		return hash[:19]
	}
	return hash
}

// changes lists what differs between the two sides and may: the reason for the comparison.
func changes(before, after Side) []string {
	ib, ia := before.run.Parts().Identity.Parts(), after.run.Parts().Identity.Parts()
	var out []string
	for _, p := range []struct {
		what string
		b, a record.Part
	}{{"engine", ib.Engine, ia.Engine}, {"build", ib.Build, ia.Build}, {"image", ib.Image, ia.Image}, {"checkpoint", ib.Checkpoint, ia.Checkpoint}, {"configuration", ib.Config, ia.Config}, {"process", ib.Process, ia.Process}} {
		vb, okB := p.b.Value()
		va, okA := p.a.Value()
		switch {
		case okB && okA && vb != va:
			out = append(out, fmt.Sprintf("%s: %s → %s", p.what, vb, va))
		case !okB || !okA:
			out = append(out, p.what+": unknown on "+sideWithout(okB, okA)+", so that it may differ")
		}
	}
	return out
}

func sideWithout(before, after bool) string {
	switch {
	case before:
		return "the side after"
	case after:
		return "the side before"
	}
	return "both sides"
}
