package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/soak"
	"infbench/stages"
)

// Soak writes what came of a soak besides its verdicts: how often each check came to what,
// what the load got, and what crept.
func Soak(w io.Writer, s Style, h *soak.History) {
	p := h.Plan()
	fmt.Fprintf(w, "%s  %s in %v, planned one every %v for %v beside %s\n", s.paint(bold, "soak"), plural(h.Rounds(), "round"), round(h.Lasted()), p.Every, p.For, plural(p.Sessions, "session"))
	if n := h.Resumed(); n > 0 {
		fmt.Fprintf(w, "  resumed   %s\n", times(n))
	}
	if n := h.Voided(); n > 0 {
		fmt.Fprintf(w, "  void      %s: the server was replaced meanwhile\n", plural(n, "round"))
	}
	a := h.Load()
	fmt.Fprintf(w, "  load      %s: %d right, %d wrong, %d turned away, %d without an answer, %d with another one's code\n", plural(a.Asked, "question"), a.Right, a.Wrong, a.Busy, a.Lost, a.Foreign)
	restarts := "none was seen"
	if list := h.Restarts(); len(list) > 0 {
		restarts = ""
		for i, r := range list {
			if i > 0 {
				restarts += "; "
			}
			restarts += fmt.Sprintf("after %v (%s)", round(r.At), r.Event.What)
		}
	}
	fmt.Fprintf(w, "  restarts  %s\n", restarts)
	failures(w, h)
	checks(w, h)
	trends(w, s, h)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func failures(w io.Writer, h *soak.History) {
	list := h.Failures()
	if len(list) == 0 {
		fmt.Fprintln(w, "  failures  none")
		return
	}
	label := "failures"
	for i := 0; i < len(list); i++ {
		f, first, more := list[i], i, ""
		for i+1 < len(list) && f.AtStart && list[i+1].Event.Summary == f.Event.Summary {
			i++
			more = fmt.Sprintf(" and %d more", i-first)
		}
		when := fmt.Sprintf("after %v, round %d", round(f.At), f.Event.Round)
		if f.AtStart {
			when = "from the beginning"
		}
		healed := ""
		switch {
		case f.Healed != nil && f.Healed.Event.Restart:
			healed = fmt.Sprintf("; healed by a restart, round %d", f.Healed.Event.Round)
		case f.Healed != nil:
			healed = fmt.Sprintf("; healed by itself, round %d", f.Healed.Event.Round)
		}
		fmt.Fprintf(w, "  %-8s  %s (%s): %s%s%s\n", label, when, f.Time.Format(time.RFC3339), f.Event.Check, more, healed)
		label = ""
	}
}

// checks lists how often each check of stage 3 came to what: stage 2 was asked once.
func checks(w io.Writer, h *soak.History) {
	fmt.Fprintln(w, "  checks    by round")
	for _, t := range h.Tallies() {
		if s, err := gates.StageOf(t.Check); err != nil || s != gates.Correctness {
			continue
		}
		var parts []string
		for _, st := range []gates.Status{gates.Passed, gates.Warned, gates.NotApplicable, gates.Skipped, gates.Failed} {
			if n := t.Counts[st]; n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(st.String(), "_", " ")))
			}
		}
		fmt.Fprintf(w, "    %-30s %s\n", t.Check, strings.Join(parts, ", "))
	}
}

func trends(w io.Writer, s Style, h *soak.History) {
	fmt.Fprintln(w, "  over time, against the beginning")
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	for _, tr := range h.Trends() {
		perHour := "—"
		if tr.PerHour != nil {
			perHour = strings.TrimSpace(fmt.Sprintf("%+.1f %s", *tr.PerHour, tr.Unit)) + "/h"
		}
		fmt.Fprintf(t, "    %s\t%s\t%s\t%s: %s\n", tr.Metric, perHour, tr.Now, s.paint(wordColours[tr.Word], tr.Word.String()), tr.Why)
	}
	_ = t.Flush() // a writer that fails is noticed by what comes after
}

var wordColours = map[soak.Word]string{soak.Steady: green, soak.Creeps: yellow, soak.Unclear: yellow, soak.Unshown: dim}

// SoakPlain returns a sink of a soak's events that writes plain lines. quiet leaves out what
// is well.
func SoakPlain(w io.Writer, quiet bool) func(soak.Entry) {
	say := func(well bool, format string, a ...any) {
		if !well || !quiet {
			fmt.Fprintf(w, format+"\n", a...)
		}
	}
	said := ""
	return func(e soak.Entry) {
		at := round(e.At)
		if _, fails := e.Event.(soak.Failed); !fails {
			said = ""
		}
		switch v := e.Event.(type) {
		case soak.Begun:
			say(true, "soak: a round every %v for %v", v.Plan.Every, v.Plan.For)
		case soak.Resumed:
			say(true, "the soak goes on, %v after it began", at)
		case soak.Reading:
		case soak.Round:
			name := fmt.Sprintf("round %d at %v", v.N, at)
			if v.N == 0 {
				name = "stage 2 smoke"
			}
			switch {
			case v.Void != "":
				say(true, "%s: void: %s", name, v.Void)
			case v.Cut:
				say(true, "%s: not finished, %s", name, outcomeCounts(v.Answers.Verdicts()))
			default:
				say(true, "%s: %s", name, outcomeCounts(v.Answers.Verdicts()))
			}
		case soak.Failed:
			if v.Summary == said { // checks that could not be asked for one reason are one line
				return
			}
			said = v.Summary
			say(false, "FAIL at %v: %s: %s", at, v.Check, v.Summary)
			for _, line := range v.Evidence {
				say(false, "  saw %s", line)
			}
		case soak.Again:
			say(false, "  %s", v)
		case soak.Healed:
			say(false, "healed at %v: %s", at, v.Check)
		case soak.Away:
			say(false, "away at %v: %s", at, v.What)
		case soak.Restarted:
			say(false, "restart seen at %v: %s", at, v.What)
		case soak.Drifts:
			say(false, "WARN at %v: %s: %s", at, v.Metric, v.Text)
		case soak.Ended:
			if v.Stopped {
				say(true, "interrupted: what was seen is kept")
			}
		}
	}
}

// outcomeCounts says in a few words what some checks came to.
func outcomeCounts(verdicts []gates.Verdict) string {
	n := map[gates.Status]int{}
	for _, v := range verdicts {
		n[v.Status()]++
	}
	text := plural(len(verdicts), "check")
	for _, s := range []gates.Status{gates.Passed, gates.Warned, gates.Skipped, gates.Failed} {
		if n[s] > 0 {
			text += fmt.Sprintf(", %d %s", n[s], s)
		}
	}
	return text
}

// SoakJSON writes one document about a soak: that of its verdicts, and the soak besides.
func SoakJSON(w io.Writer, exit int, problem string, subject gates.Subject, rep stages.Report, about func(id string) gates.Info, where string, s soak.Summary, host record.Host) error {
	out := report("soak", exit, problem, subject, Beside{Host: host}, rep, about, where, record.PerfRecord{})
	out.Soak = &s
	return write(w, out)
}
