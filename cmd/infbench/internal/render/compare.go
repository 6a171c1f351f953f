package render

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"infbench/baseline"
	"infbench/gates"
)

// Comparison writes what came of two records, in text.
func Comparison(w io.Writer, s Style, before, after string, c baseline.Comparison) error {
	fmt.Fprintf(w, "before  %s\nafter   %s\n", gates.Printable(before, 200), gates.Printable(after, 200))
	if len(c.Refused) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.paint(red, "refused: the two cannot be compared"))
		for _, r := range c.Refused {
			fmt.Fprintf(w, "  · %s\n", gates.Printable(r.String(), 400))
		}
		return nil
	}
	for i, ch := range c.Changes {
		if i == 0 {
			fmt.Fprintln(w, "changed in between, as far as the records tell")
		}
		fmt.Fprintf(w, "  · %s\n", gates.Printable(ch, 300))
	}
	if len(c.Metrics) == 0 {
		fmt.Fprintf(w, "\n%s: %s\n", s.paint(yellow, "cannot tell"), nothingGood)
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "metric\tverdict\tchange\t95 %\tnoise\t")
	for _, m := range c.Metrics {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, changeWord(s, m.Verdict), change(m), between(m.Low, m.High, m.Coverage), noise(m), gates.Printable(m.Why, 200))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range c.Metrics {
		for _, f := range m.FarOut {
			fmt.Fprintf(w, "%s: %s\n", m.Name, f)
		}
		if m.Part.Part != "" {
			attribution(w, m)
		}
	}
	if err := lineFits(w, c); err != nil {
		return err
	}
	return cells(w, c)
}

// lineFits writes the line of time against context of each side.
func lineFits(w io.Writer, c baseline.Comparison) error {
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	head := "\ntime against context\tside\tfixed\t95 %\tper 1,000 tokens\t95 %\tTheil–Sen\t\n"
	for _, m := range c.Metrics {
		lines, ok := c.Lines[m.Name]
		if !ok {
			continue
		}
		for i, l := range lines {
			note := ""
			if l.Curved {
				note = "a straight line does not hold its depths"
			}
			fmt.Fprintf(t, "%s  %s\t%s\t%s\t%s to %s\t%s\t%s to %s\t%s\t%s\n", head, m.Name, [...]string{"before", "after"}[i],
				ms(l.Overhead.Value), ms(l.Overhead.Low), ms(l.Overhead.High), ms(l.PerThousand.Value), ms(l.PerThousand.Low), ms(l.PerThousand.High), ms(l.Robust), note)
			head = ""
		}
	}
	return t.Flush()
}

func changeWord(s Style, v baseline.Verdict) string {
	switch v {
	case baseline.Faster:
		return s.paint(green, string(v))
	case baseline.Slower:
		return s.paint(red, string(v))
	case baseline.CannotTell:
		return s.paint(yellow, string(v))
	case baseline.NoChange:
	}
	return string(v)
}

// nothingGood is said of two records in which no repeat is whole.
const nothingGood = "no repeat of either side is one of good answers at every depth"

// hasChange reports whether a metric's change is a number to show: one that cannot be told from
// none has no number of its own.
func hasChange(m baseline.Metric) bool { return m.Tested() && m.Verdict != baseline.NoChange }

func change(m baseline.Metric) string {
	if !hasChange(m) {
		return "—"
	}
	return fmt.Sprintf("%+.1f %%", 100*m.Change)
}

func noise(m baseline.Metric) string {
	if !m.Tested() {
		return "—"
	}
	return fmt.Sprintf("±%.1f %%", 100*m.Band)
}

func between(low, high, coverage float64) string {
	if coverage == 0 || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return "—"
	}
	return fmt.Sprintf("%+.1f to %+.1f %%", 100*low, 100*high)
}

func attribution(w io.Writer, m baseline.Metric) {
	p := m.Part
	fmt.Fprintf(w, "%s: %s\n", m.Name, p.Part)
	note := ""
	if p.Extrapolated {
		note = " (extrapolated: no depth is shallow enough to see it)"
	}
	fmt.Fprintf(w, "  fixed overhead %+s (95 %%: %+s to %+s)%s\n", signed(p.Offset.Value), signed(p.Offset.Low), signed(p.Offset.High), note)
	fmt.Fprintf(w, "  per 1,000 tokens %s (95 %%: %s to %s), which is %s at %d tokens\n", signed(p.PerThousand.Value), signed(p.PerThousand.Low), signed(p.PerThousand.High), signed(p.SlopeThere), p.At)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond)) }

func signed(d time.Duration) string {
	return fmt.Sprintf("%+.3gms", float64(d)/float64(time.Millisecond))
}

// cells writes the depths one by one: they describe, and decide nothing.
func cells(w io.Writer, c baseline.Comparison) error {
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nby depth (descriptive)\ttokens\tbefore\tafter\tchange\t95 %\tp")
	for _, m := range c.Metrics {
		for _, d := range m.Cells {
			fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%+.1f %%\t%s\t%.3g\n", m.Name, d.PromptTokens, plainly(d.Before), plainly(d.After), 100*d.Change, between(d.Low, d.High, d.Coverage), d.P)
		}
	}
	return t.Flush()
}

func plainly(d time.Duration) string {
	if d >= time.Second {
		return d.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
}

// ComparisonMarkdown writes the same for a merge request.
func ComparisonMarkdown(w io.Writer, before, after string, c baseline.Comparison) {
	fmt.Fprintf(w, "### infbench compare\n\n| | |\n|---|---|\n| before | %s |\n| after | %s |\n", cell(before), cell(after))
	if len(c.Refused) > 0 {
		fmt.Fprint(w, "\n**Refused:** the two cannot be compared.\n\n")
		for _, r := range c.Refused {
			fmt.Fprintf(w, "- %s\n", cell(r.String()))
		}
		return
	}
	for _, ch := range c.Changes {
		fmt.Fprintf(w, "| changed | %s |\n", cell(ch))
	}
	if len(c.Metrics) == 0 {
		fmt.Fprintf(w, "\n**cannot tell:** %s\n", nothingGood)
		return
	}
	fmt.Fprint(w, "\n| metric | verdict | change | 95 % | noise of the repeats | why | part |\n|---|---|---|---|---|---|---|\n")
	for _, m := range c.Metrics {
		fmt.Fprintf(w, "| %s | **%s** | %s | %s | %s | %s | %s |\n", m.Name, m.Verdict, change(m), between(m.Low, m.High, m.Coverage), noise(m), cell(m.Why), cell(m.Part.Part))
	}
	fmt.Fprint(w, "\n<details><summary>by depth (descriptive)</summary>\n\n| metric | tokens | before | after | change | 95 % | p |\n|---|---|---|---|---|---|---|\n")
	for _, m := range c.Metrics {
		for _, d := range m.Cells {
			fmt.Fprintf(w, "| %s | %d | %s | %s | %+.1f %% | %s | %.3g |\n", m.Name, d.PromptTokens, plainly(d.Before), plainly(d.After), 100*d.Change, between(d.Low, d.High, d.Coverage), d.P)
		}
	}
	fmt.Fprint(w, "\n</details>\n")
}

// cell makes a text harmless in a table of Markdown.
func cell(text string) string {
	out := ""
	for _, r := range gates.Printable(text, 400) {
		switch r {
		case '|', '\\', '`', '*', '_', '[', ']', '<', '>', '#', '!':
			out += fmt.Sprintf("&#%d;", r)
		default:
			out += string(r)
		}
	}
	return out
}

type comparisonJSON struct {
	Schema  string        `json:"schema"`
	Before  string        `json:"before"`
	After   string        `json:"after"`
	Exit    int           `json:"exit"`
	Refused []refusalJSON `json:"refused,omitempty"`
	Changes []string      `json:"changes,omitempty"`
	Metrics []metricJSON  `json:"metrics,omitempty"`
}

type refusalJSON struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

type metricJSON struct {
	Metric   string   `json:"metric"`
	Verdict  string   `json:"verdict"`
	Why      string   `json:"why"`
	Change   *float64 `json:"change"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Coverage *float64 `json:"coverage"`
	P        *float64 `json:"p"`
	Band     *float64 `json:"noise"`
	Smallest *float64 `json:"smallest_that_shows"`
	Part     string   `json:"part,omitempty"`
	// Repeats are the good ones of each side, Depths describe and decide nothing.
	Repeats [2]int      `json:"repeats"`
	Depths  []depthJSON `json:"by_depth"`
}

type depthJSON struct {
	Tokens   int      `json:"tokens"`
	BeforeNS int64    `json:"before_ns"`
	AfterNS  int64    `json:"after_ns"`
	Change   float64  `json:"change"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	P        float64  `json:"p"`
}

// ComparisonJSON writes the same for machines: changes are relative, and absent where there is
// none to tell.
func ComparisonJSON(w io.Writer, before, after string, c baseline.Comparison) error {
	out := comparisonJSON{Schema: "infbench.compare/v1", Before: gates.Printable(before, 200), After: gates.Printable(after, 200), Exit: c.Exit()}
	for _, ch := range c.Changes {
		out.Changes = append(out.Changes, gates.Printable(ch, 300))
	}
	for _, r := range c.Refused {
		out.Refused = append(out.Refused, refusalJSON{gates.Printable(r.What, 300), gates.Printable(r.Before, 300), gates.Printable(r.After, 300)})
	}
	number := func(v float64, known bool) *float64 {
		if !known || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return &v
	}
	for _, m := range c.Metrics {
		told := m.Tested()
		j := metricJSON{
			Metric: m.Name, Verdict: string(m.Verdict), Why: m.Why, Change: number(m.Change, hasChange(m)), Low: number(m.Low, told), High: number(m.High, told),
			Coverage: number(m.Coverage, told), P: number(m.P, told), Band: number(m.Band, told), Smallest: number(m.Smallest, told), Part: m.Part.Part,
			Repeats: [2]int{len(m.Before), len(m.After)},
		}
		for _, d := range m.Cells {
			j.Depths = append(j.Depths, depthJSON{d.PromptTokens, int64(d.Before), int64(d.After), d.Change, number(d.Low, true), number(d.High, true), d.P})
		}
		out.Metrics = append(out.Metrics, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
