// Package render turns events, reports and records into words. It computes nothing,
// never runs on a goroutine that measures, and refuses to show a number without its
// gates: what it prints of a performance is read from a [record.PerfRecord] only.
package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages"
)

// Style says how words are marked.
type Style struct {
	// Colour says that escape codes may be used.
	Colour bool
	// Quiet leaves out what passed.
	Quiet bool
	// All lists every check; without it a stage of many shows only what did not pass.
	All bool
}

// many is the number of checks above which a stage shows its passes as one number.
const many = 12

const (
	red, yellow, green, dim, bold, reset = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m", "\x1b[1m", "\x1b[0m"
)

func (s Style) paint(code, text string) string {
	if !s.Colour {
		return text
	}
	return code + text + reset
}

// words are the outcomes as a reader sees them, of equal width.
var words = map[gates.Status]string{
	gates.Passed: "pass", gates.Warned: "WARN", gates.Skipped: "skip", gates.NotApplicable: "n/a ", gates.Failed: "FAIL",
}

func (s Style) status(st gates.Status) string {
	colour := map[gates.Status]string{gates.Passed: green, gates.Warned: yellow, gates.Skipped: yellow, gates.NotApplicable: dim, gates.Failed: red}[st]
	return s.paint(colour, words[st])
}

func round(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

// Verdicts writes what came of the stages: a line a check, and under what is not
// passed the evidence, the likely causes and what to run next. Checks of a stage that
// say the same are one line.
func Verdicts(w io.Writer, s Style, rep stages.Report, about func(id string) gates.Info) {
	for _, res := range rep.Results {
		head := fmt.Sprintf("stage %d %s", res.Stage, res.Stage)
		if res.NotRun != "" {
			fmt.Fprintf(w, "%s  %s\n", s.paint(bold, fmt.Sprintf("%-22s", head)), s.paint(yellow, "not run: "+res.NotRun))
			continue
		}
		fmt.Fprintf(w, "%s  %s  %s in %v\n", s.paint(bold, fmt.Sprintf("%-22s", head)), s.status(res.Status), plural(len(res.Verdicts), "check"), round(res.Took))
		if c := gates.ConditionOf(res.Verdicts); c != 0 && res.Status == gates.Failed {
			fmt.Fprintf(w, "  it is wrong %s\n", c.Words())
		}
		inner := s
		if len(res.Verdicts) > many && !s.All {
			inner.Quiet = true
			if line := counts(res.Verdicts); line != "" && !s.Quiet {
				fmt.Fprintf(w, "  %s\n", line)
			}
		}
		for _, group := range alike(res.Verdicts) {
			verdict(w, inner, group, about)
		}
	}
}

// counts says how many checks passed and how many did not apply.
func counts(verdicts []gates.Verdict) string {
	n := map[gates.Status]int{}
	for _, v := range verdicts {
		n[v.Status()]++
	}
	if n[gates.Passed]+n[gates.NotApplicable] == 0 {
		return ""
	}
	return fmt.Sprintf("%d passed, %d not applicable (--all lists them)", n[gates.Passed], n[gates.NotApplicable])
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// alike groups neighbouring verdicts with one outcome and one summary.
func alike(verdicts []gates.Verdict) [][]gates.Verdict {
	var out [][]gates.Verdict
	for _, v := range verdicts {
		if n := len(out); n > 0 && out[n-1][0].Status() == v.Status() && out[n-1][0].Summary() == v.Summary() && v.Status() != gates.Passed {
			out[n-1] = append(out[n-1], v)
			continue
		}
		out = append(out, []gates.Verdict{v})
	}
	return out
}

func verdict(w io.Writer, s Style, group []gates.Verdict, about func(id string) gates.Info) {
	v := group[0]
	quietly := v.Status() == gates.Passed || v.Status() == gates.NotApplicable
	if quietly && s.Quiet {
		return
	}
	name := v.Check()
	if len(group) > 1 {
		name = fmt.Sprintf("%s and %d more:", name, len(group)-1)
	}
	fmt.Fprintf(w, "  %s  %-32s %s\n", s.status(v.Status()), name, v.Summary())
	if quietly {
		grid(w, s, v.Grid())
		return
	}
	list := func(label string, lines []string) {
		for i, l := range lines {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(w, "        %s %s\n", s.paint(dim, fmt.Sprintf("%-7s", label)), l)
		}
	}
	if v.Status() == gates.Failed && len(group) == 1 {
		if c := about(v.Check()).Title; c != "" {
			list("claim", []string{c})
		}
	}
	if when := v.Condition().Words(); when != "" {
		list("when", []string{when})
	}
	grid(w, s, v.Grid())
	if v.Status() == gates.Skipped {
		list("saw", v.Evidence())
		list("next", v.Next())
		return
	}
	list("saw", v.Evidence())
	list("likely", v.Causes())
	if len(group) == 1 && v.Status() == gates.Failed {
		list("engines", consequences(about(v.Check()).Does))
	}
	next := v.Next()
	if len(next) > 0 && len(group) == 1 {
		next = append(next, "infbench explain "+strings.Join(append([]string{v.Check()}, modes(about(v.Check()).Modes)...), " | "))
	}
	list("next", next)
}

// grid draws a heat map: a row of marks for each length or size.
func grid(w io.Writer, s Style, g gates.Grid) {
	if g.IsZero() {
		return
	}
	width := len([]rune(g.Down()))
	for _, r := range g.Rows() {
		width = max(width, len([]rune(r.Label)))
	}
	columns := g.Columns()
	fmt.Fprintf(w, "        %*s  %s from %s to %s\n", width, g.Down(), g.Across(), columns[0], columns[len(columns)-1])
	for _, r := range g.Rows() {
		var marks strings.Builder
		for _, c := range r.Cells {
			marks.WriteString(s.paint(cellColours[c], string(c.Mark())))
		}
		fmt.Fprintf(w, "        %*s  %s\n", width, r.Label, marks.String())
	}
	fmt.Fprintf(w, "        %*s  %s\n", width, "", s.paint(dim, gates.GridLegend))
}

var cellColours = map[gates.Cell]string{gates.Right: green, gates.Wrong: red, gates.Beyond: dim, gates.NotAsked: dim}

// modes are the first entries of the taxonomy that a check covers.
func modes(all []string) []string {
	var out []string
	for _, m := range all {
		if modeID.MatchString(m) && len(out) < 3 {
			out = append(out, m)
		}
	}
	return out
}

var modeID = regexp.MustCompile(`^[A-Z]{3,4}-[0-9]{2}$`)

// consequences says what each engine would do on the defect.
func consequences(does []gates.Consequence) []string {
	var out []string
	for _, d := range does {
		out = append(out, d.Engine+": "+d.Does)
	}
	return out
}

var exits = map[int]string{
	stages.ExitHealthy: "healthy", stages.ExitWarnings: "warnings only", stages.ExitFailed: "hard failure", stages.ExitInterrupted: "interrupted",
}

// Exit writes the last line: the exit code in words, and where the record is.
func Exit(w io.Writer, s Style, code int, record string) {
	colour := map[int]string{stages.ExitHealthy: green, stages.ExitWarnings: yellow}[code]
	if colour == "" {
		colour = red
	}
	fmt.Fprintf(w, "%s\n", s.paint(colour, fmt.Sprintf("exit %d: %s", code, exits[code])))
	if record != "" {
		fmt.Fprintf(w, "record  %s\n", record)
	}
}

// Line writes what came of a run in one line: for a journal.
func Line(w io.Writer, command string, subject gates.Subject, rep stages.Report, exit int, problem string) {
	n := map[gates.Status]int{}
	var bad []string
	for _, r := range rep.Results {
		for _, v := range r.Verdicts {
			n[v.Status()]++
			if s := v.Status(); (s == gates.Failed || s == gates.Warned) && len(bad) < 3 {
				bad = append(bad, fmt.Sprintf("%s: %s", v.Check(), v.Summary()))
			}
		}
	}
	line := fmt.Sprintf("infbench %s: exit %d, %s: %d passed, %d failed, %d warned, %d skipped in %v", command, exit, exits[exit], n[gates.Passed], n[gates.Failed],
		n[gates.Warned], n[gates.Skipped], round(rep.Took))
	if problem != "" {
		line += ": " + problem
	}
	if len(bad) > 0 {
		line += ": " + strings.Join(bad, "; ")
	}
	if !subject.IsZero() {
		line += " · " + subject.String()
	}
	fmt.Fprintln(w, gates.Printable(line, 800))
}

// Plain returns a sink of events that writes plain lines, for a log: one when a stage
// begins, one for each check that is not passed, one at both ends of each level and every
// ten seconds in between.
func Plain(w io.Writer) func(stages.Event) {
	said := ""
	var next time.Duration // into the level
	return func(e stages.Event) {
		switch e := e.(type) {
		case stages.StageStarted:
			said = ""
			about := ""
			if e.Cost > 0 {
				about = fmt.Sprintf(", about %v", round(e.Cost))
			}
			fmt.Fprintf(w, "stage %d %s: %s%s\n", e.Stage, e.Stage, plural(e.Checks, "check"), about)
		case stages.WorkStated:
			fmt.Fprintf(w, "stage %d %s: %s\n", e.Stage, e.Stage, e.Text)
		case stages.CheckStarted:
		case stages.CheckFinished:
			// Nine checks that could not be asked for one reason are one line.
			if st := e.Verdict.Status(); (st == gates.Failed || st == gates.Warned) && e.Verdict.Summary() != said {
				said = e.Verdict.Summary()
				fmt.Fprintf(w, "%s %s: %s\n", strings.TrimSpace(words[st]), e.Verdict.Check(), said)
			}
		case stages.StageFinished:
			fmt.Fprintf(w, "stage %d %s: %s in %v\n", e.Result.Stage, e.Result.Stage, strings.TrimSpace(words[e.Result.Status]), round(e.Result.Took))
		case stages.StageNotRun:
			fmt.Fprintf(w, "stage %d %s: not run: %s\n", e.NotRun.Stage, e.NotRun.Stage, e.NotRun.Why)
		case stages.LevelStarted:
			next = progressEvery
			if e.Restored {
				fmt.Fprintln(w, restoredLine(e))
				return
			}
			fmt.Fprintf(w, "%s %d of %d: %s, about %v\n", step(e.Depth), e.Index+1, e.Of, e.Arrival, round(e.Expected))
		case stages.LevelProgress:
			if running := e.Live.Running(); running >= next {
				next = running.Truncate(progressEvery) + progressEvery
				fmt.Fprintln(w, progressLine(e))
			}
		case stages.LevelFinished:
			fmt.Fprintf(w, "%s %d of %d: %d of %d requests good\n", step(e.Depth), e.Index+1, e.Of, e.Good, e.Issued)
		case stages.Interrupted:
			fmt.Fprintln(w, "interrupted: what was measured is kept")
		}
	}
}
