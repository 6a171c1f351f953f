package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"infbench/gates"
	"infbench/record"
)

// Run writes one recorded run from its record alone.
func Run(w io.Writer, s Style, run record.Run, about func(id string) gates.Info) error {
	p := run.Parts()
	fmt.Fprintf(w, "%s  %s\n", s.paint(bold, "run "+p.ID), gates.Printable(p.Identity.Subject().String(), 300))
	fmt.Fprintf(w, "  infbench %s by %s, begun %s, took %v, exit %d\n", gates.Printable(p.Command, 40), gates.Printable(p.Harness, 80), p.Started.Format("2006-01-02 15:04:05 MST"), round(p.Took), p.Exit)
	if !p.Ending.Complete {
		fmt.Fprintf(w, "  %s: %s\n", s.paint(yellow, "incomplete"), gates.Printable(p.Ending.Cause, 300))
	}
	for _, part := range identityOf(p.Identity) {
		fmt.Fprintf(w, "  %-12s %s\n", part[0], part[1])
	}
	for _, c := range p.Caveats {
		fmt.Fprintf(w, "  · %s\n", gates.Printable(c, 300))
	}
	for _, stage := range stagesOf(p.Ledger) {
		status, why, ok := p.Ledger.Outcome(stage)
		head := s.paint(bold, fmt.Sprintf("%-22s", fmt.Sprintf("stage %d %s", stage, stage)))
		if !ok {
			continue
		}
		fmt.Fprintf(w, "%s  %s", head, s.status(status))
		if why != "" && status != gates.Passed {
			fmt.Fprintf(w, "  %s", gates.Printable(why, 200))
		}
		fmt.Fprintln(w)
		for _, v := range p.Ledger.Of(stage).Verdicts() {
			inner := s
			inner.Quiet = !s.All
			verdict(w, inner, []gates.Verdict{v}, about)
		}
	}
	perf, ok := run.Performance()
	if !ok {
		return nil
	}
	return Figures(w, s, perf)
}

// Figures writes the numbers of a record, of a sweep or of a baseline.
func Figures(w io.Writer, s Style, p record.PerfRecord) error {
	if b, is := p.Baseline(); is {
		return Baseline(w, s, p, b)
	}
	return Performance(w, s, p)
}

func identityOf(id record.Identity) [][2]string {
	p := id.Parts()
	var out [][2]string
	for _, f := range []struct {
		name string
		part record.Part
	}{{"engine", p.Engine}, {"build", p.Build}, {"image", p.Image}, {"checkpoint", p.Checkpoint}, {"accelerator", p.Accelerator}, {"config", p.Config}, {"cache", p.Cache}} {
		v, known := f.part.Value()
		if !known {
			v = "unknown: " + f.part.Why()
		}
		out = append(out, [2]string{f.name, gates.Printable(v, 200)})
	}
	return out
}

func stagesOf(l gates.Ledger) []gates.Stage {
	var out []gates.Stage
	for _, v := range l.Verdicts() {
		out = append(out, v.Stage())
	}
	for _, n := range l.NotRun() {
		out = append(out, n.Stage)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RunMarkdown writes one recorded run as Markdown: the texts as code, so that nothing in them
// is read as markup.
func RunMarkdown(w io.Writer, run record.Run) error {
	p := run.Parts()
	fmt.Fprintf(w, "### infbench %s %s\n\n| | |\n|---|---|\n| subject | %s |\n| begun | %s |\n| took | %v |\n| exit | %d |\n", cell(p.Command), cell(p.ID), cell(p.Identity.Subject().String()),
		p.Started.Format("2006-01-02 15:04:05 MST"), round(p.Took), p.Exit)
	if !p.Ending.Complete {
		fmt.Fprintf(w, "| incomplete | %s |\n", cell(p.Ending.Cause))
	}
	for _, part := range identityOf(p.Identity) {
		fmt.Fprintf(w, "| %s | %s |\n", part[0], cell(part[1]))
	}
	fmt.Fprint(w, "\n| stage | came to |\n|---|---|\n")
	for _, stage := range stagesOf(p.Ledger) {
		if status, why, ok := p.Ledger.Outcome(stage); ok {
			fmt.Fprintf(w, "| %d %s | %s %s |\n", stage, stage, status, cell(why))
		}
	}
	for _, v := range p.Ledger.Verdicts() {
		if st := v.Status(); st == gates.Failed || st == gates.Warned {
			fmt.Fprintf(w, "\n- **%s** %s: %s", st, cell(v.Check()), cell(v.Summary()))
		}
	}
	fmt.Fprintln(w)
	perf, ok := run.Performance()
	if !ok {
		return nil
	}
	var b strings.Builder
	if err := Figures(&b, Style{}, perf); err != nil {
		return err
	}
	// Figures are a table of fixed width; a fence that no line of it can end holds it.
	_, err := fmt.Fprintf(w, "\n~~~~~~text\n%s~~~~~~\n", strings.ReplaceAll(b.String(), "~~~", "~ ~ ~"))
	return err
}

// Baseline writes what a baseline measured, cell by cell. It refuses an empty record with an
// [*record.UngatedResultError].
func Baseline(w io.Writer, s Style, p record.PerfRecord, b record.Baseline) error {
	if p.IsZero() {
		return &record.UngatedResultError{Reason: "there is no gated record to report"}
	}
	fmt.Fprintf(w, "\n%s  %s\n", s.paint(bold, "baseline "+gates.Printable(b.Name, 80)), p.Identity().Subject())
	fmt.Fprintf(w, "  workload %s, prompts %s, one request at a time, tokens counted by %s\n", gates.Printable(b.Hash, 80), gates.Printable(b.Materialised, 80), p.Workload().TokenSource)
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	if len(b.Void) > 0 {
		fmt.Fprintf(w, "  %s\n", s.paint(red, "its figures are void"))
	} else {
		fmt.Fprintln(t, "  prompt\tcache\trepeats\tTTFT median\trange\tTPOT median\trange")
	}
	for _, c := range b.Measured {
		if len(b.Void) > 0 {
			break
		}
		state := "cold"
		if c.Warm {
			state = "warm"
		}
		if !c.Proven {
			state += ", unproven"
		}
		good := slices.DeleteFunc(slices.Clone(c.Repeats), func(r record.Repeat) bool { return !r.Good })
		ttft, ttfts := middleOf(good, func(r record.Repeat) float64 { return float64(r.TTFT) })
		tpot, tpots := "—", "—"
		if p.Workload().TokenSource != record.ChunkCount { // a time per chunk is none per token
			tpot, tpots = middleOf(good, func(r record.Repeat) float64 { return float64(r.TPOT) })
		}
		length := fmt.Sprint(c.TrueTokens)
		if c.TrueTokens != c.PromptTokens {
			length += fmt.Sprintf(" (%d were aimed at)", c.PromptTokens)
		}
		fmt.Fprintf(t, "  %s\t%s\t%d of %d\t%s\t%s\t%s\t%s\n", length, state, len(good), len(c.Repeats), ttft, ttfts, tpot, tpots)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, c := range p.Caveats() {
		if i == 0 {
			fmt.Fprintf(w, "  %s\n", s.paint(bold, "to be read with"))
		}
		fmt.Fprintf(w, "    · %s\n", gates.Printable(c, 400))
	}
	return nil
}

func middleOf(repeats []record.Repeat, value func(record.Repeat) float64) (middle, spread string) {
	var v []float64
	for _, r := range repeats {
		if x := value(r); x > 0 {
			v = append(v, x/1e6)
		}
	}
	if len(v) == 0 {
		return "—", "—"
	}
	slices.Sort(v)
	return fmt.Sprintf("%.4gms", v[(len(v)-1)/2]), fmt.Sprintf("%.4g to %.4g", v[0], v[len(v)-1])
}

// ExplainComparison says what each word of a comparison means.
func ExplainComparison(w io.Writer) error {
	_, err := io.WriteString(w, `What compare refuses, and why:
  workload                    another suite, or another number of repeats: the times are of other requests
  prompts                     equal suites that came out as other prompts: another tokenizer, or another list of words
  arrival model               two honest runs at equal throughput differ threefold by it
  who counted the tokens      counts of different sources are never mixed
  output length               a forced length and a free one end at other tokens
  definitions of the figures  a later infbench works a figure out by another formula
  cache                       one side's cold prompts were proven cold and the other's were not, or nobody counted whether warm ones were
  accelerator                 another device, or one that a record does not know; --same accelerator states that it is the same
  gates                       a check failed on one side: the speed of garbage is no speed
  incomplete, void            the run was stopped, or its figures were withdrawn

What it says of a metric (times of all depths, the geometric mean of each repeat):
  faster, slower              the exact rank test finds it among the metrics at 5 % (Benjamini–Hochberg), and it is larger than the noise
  no detectable change        it does not, or what it finds is within the noise of the repeats; the change that would have shown four times in five stands beside it
  cannot tell                 too few good repeats, or a p that only more repeats could tell from chance among so many metrics
  change, 95 %                the Hodges–Lehmann shift of the times and its interval
  noise                       half of the range of the repeats, of the wider side

What a change is made of: one line of time against context is fitted to each side, and the difference of their two terms is tested. The term that
comes to more at the depths that were measured is named first.
`)
	return err
}
