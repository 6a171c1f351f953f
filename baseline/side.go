package baseline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

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
	// frozen says that data is there; suite is zero where it could not be read back.
	frozen bool
	suite  Suite
	lack   []string // why it cannot be compared at all
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
		why := "it stopped before it measured"
		if _, err := parts.Ledger.Gates(); err != nil {
			why = err.Error()
		} else if i := slices.IndexFunc(parts.Ledger.Verdicts(), failed); i >= 0 {
			v := parts.Ledger.Verdicts()[i]
			why = v.Check() + " failed: " + v.Summary()
		}
		s.lack = append(s.lack, "it holds no numbers: "+why)
		return s
	}
	s.perf = perf
	if s.data, s.frozen = perf.Baseline(); !s.frozen {
		s.lack = append(s.lack, "it is no baseline: infbench baseline makes one")
		return s
	}
	for _, v := range s.data.Void {
		s.lack = append(s.lack, "its figures are void: "+v)
	}
	if err := s.sent(); err != nil {
		s.lack = append(s.lack, err.Error())
	}
	return s
}

func failed(v gates.Verdict) bool { return v.Status() == gates.Failed }

// sent reads the suite back from the record and holds the record to it: its hash, its cells, and
// of a complete run its repeats.
func (s *Side) sent() error {
	plain, err := jcs.Transform(s.data.Spec) // a record writes JSON with escapes of its own
	if err != nil {
		return fmt.Errorf("its suite cannot be read: %w", err)
	}
	if s.suite, err = ParseSuite(s.data.Name, plain); err != nil {
		return fmt.Errorf("its suite cannot be read: %w", err)
	}
	if s.suite.Hash() != s.data.Hash {
		return errors.New("its suite is not the one that its hash names")
	}
	var want []Depth
	for _, d := range s.suite.depths {
		want = append(want, d, d)
	}
	if len(want) != len(s.data.Measured) {
		return errors.New("its cells are not those of its suite")
	}
	for i, c := range s.data.Measured {
		if want[i] != (Depth{c.PromptTokens, c.MaxTokens}) || c.Warm != (i%2 == 1) {
			return errors.New("its cells are not those of its suite")
		}
		if len(c.Repeats) > s.suite.repeats || len(c.Repeats) < s.suite.repeats && s.run.Parts().Ending.Complete {
			return fmt.Errorf("%d repeats of a prompt of %d tokens, where its suite has %d", len(c.Repeats), c.PromptTokens, s.suite.repeats)
		}
	}
	return nil
}

// Run returns the run of the side.
func (s Side) Run() record.Run { return s.run }

// Refusal is one reason for which two records are not compared.
type Refusal struct {
	// What is the thing that differs, Before and After what each side has of it.
	What, Before, After string
}

// String says the reason with both sides named; one side's own is about that side alone.
func (r Refusal) String() string {
	switch {
	case r.After == "":
		return r.What + ": " + r.Before
	case r.Before == "":
		return r.What + ": " + r.After
	case r.Before == r.After:
		return r.What + ": " + r.Before + " on both sides"
	}
	return fmt.Sprintf("%s: %s before, %s after", r.What, r.Before, r.After)
}

// Parts that a person may state to be the same on both sides where a record does not know.
var statable = []string{"accelerator"}

// Statable returns what can be stated to be the same.
func Statable() []string { return slices.Clone(statable) }

// refusals returns every reason at once; stated names unknown parts that a person knows to be
// the same. What a side does not have is no reason beside the one that it is not there.
func refusals(before, after Side, stated []string) []Refusal {
	var out []Refusal
	for i, s := range []Side{before, after} {
		own := func(what, why string) {
			r := Refusal{What: fmt.Sprintf("%s %s (%s)", what, [...]string{"before", "after"}[i], s.Name)}
			if i == 0 {
				r.Before = why
			} else {
				r.After = why
			}
			out = append(out, r)
		}
		for _, why := range s.lack {
			own("the side", why)
		}
		if s.perf.IsZero() { // what failed is the reason why there is nothing
			continue
		}
		for _, v := range s.run.Parts().Ledger.Verdicts() {
			if failed(v) {
				own("gates of the side", v.Check()+" failed")
			}
		}
	}
	differ := func(what, b, a string) {
		if b != a {
			out = append(out, Refusal{what, b, a})
		}
	}
	pb, pa := before.run.Parts(), after.run.Parts()
	if pb.ID == pa.ID {
		out = append(out, Refusal{"the run, which is compared with itself", pb.ID, pa.ID})
	}
	if before.frozen && after.frozen {
		if before.data.Hash != after.data.Hash {
			out = append(out, Refusal{"workload", before.workload(), after.workload()})
		} else {
			differ("prompts (another tokenizer, or another list of words)", short(before.data.Materialised), short(after.data.Materialised))
		}
		wb, wa := before.perf.Workload(), after.perf.Workload()
		differ("arrival model", before.perf.Arrival().String(), after.perf.Arrival().String())
		differ("who counted the tokens", counted(wb), counted(wa))
		differ("output length", forced(wb), forced(wa))
		differ("definitions of the figures", before.perf.Definitions(), after.perf.Definitions())
		differ("cache", cacheOf(before.data), cacheOf(after.data))
	}
	return append(out, samePart("accelerator", pb.Identity.Parts().Accelerator, pa.Identity.Parts().Accelerator, stated)...)
}

// workload names a suite so that two of them can be told apart.
func (s Side) workload() string {
	if s.suite.IsZero() {
		return s.data.Name + " " + short(s.data.Hash)
	}
	return fmt.Sprintf("%s with %d repeats (%s)", s.data.Name, s.suite.repeats, short(s.data.Hash))
}

func counted(w record.Workload) string {
	if w.TokenizedBy != "" {
		return string(w.TokenSource) + " " + w.TokenizedBy
	}
	return string(w.TokenSource)
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
	return []Refusal{{what + " (unknown counts as different; --same " + what + " states that it is not)", name(vb, okB), name(va, okA)}}
}

func forced(w record.Workload) string {
	if w.ForcedLength {
		return "forced"
	}
	return "free"
}

// cacheOf says how the cells stood to the cache: cold and warm, and whether that is proven.
// Where the server counts the hits of warm prompts, that there were none is a result and no
// other way of measuring.
func cacheOf(b record.Baseline) string {
	word := func(name string, warm bool) string {
		proven, all := 0, 0
		for _, c := range b.Cells {
			if c.Warm == warm {
				all++
				if c.Proven {
					proven++
				}
			}
		}
		switch proven {
		case all:
			return name + " proven"
		case 0:
			return name + " by construction"
		}
		return fmt.Sprintf("%s proven at %d of %d depths", name, proven, all)
	}
	if hitsCounted(b) {
		return word("cold", false) + ", warm counted"
	}
	return word("cold", false) + ", " + word("warm", true)
}

// hitsCounted reports whether the server told of every warm request how many of its tokens
// came from the cache.
func hitsCounted(b record.Baseline) bool {
	warm := false
	for _, c := range b.Measured {
		for _, r := range c.Repeats {
			if _, told := r.Cached.N(); c.Warm && !told {
				return false
			}
			warm = warm || c.Warm
		}
	}
	return warm
}

// hits says of a side whose hits are counted whether warm prompts came from the cache.
func hits(b record.Baseline) string {
	for _, c := range b.Cells {
		if c.Warm && !c.Proven {
			return "not all warm prompts came from the prefix cache"
		}
	}
	return "warm prompts came from the prefix cache"
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
	if b, a := hits(before.data), hits(after.data); b != a && hitsCounted(before.data) && hitsCounted(after.data) {
		out = append(out, "cache: "+b+" → "+a)
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
