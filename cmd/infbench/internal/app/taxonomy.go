package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/internal/selftest"
	"infbench/internal/taxonomy"
)

// taxonomyPage writes docs/FAILURE-TAXONOMY.md: symptoms first, and who looks for them.
func taxonomyPage(w io.Writer, infos []gates.Info) error {
	var b strings.Builder
	b.WriteString("# Failures by what a client sees\n\nPrinted by `infbench checks --taxonomy` from the failure modes, the checks and the faults; a test keeps this page equal to the code.\n" +
		"`infbench explain ID` prints one entry. Severity: H hard failure, W warning, W→H a warning once and hard when it repeats, none: normal\n" +
		"behaviour that breaks naive clients. A report shows that the symptom happened to somebody, not that a current version has it; causes are the\n" +
		"words of those who reported or mended it. A mode without a check is known and not looked for yet.\n\n")
	covered := 0
	for _, m := range taxonomy.All() {
		if len(checksFor(infos, m.ID)) > 0 {
			covered++
		}
	}
	fmt.Fprintf(&b, "%d modes, %d of them covered by a check.\n", len(taxonomy.All()), covered)
	area := ""
	faults := selftest.Modes()
	for _, m := range taxonomy.All() {
		if m.Area != area {
			area = m.Area
			fmt.Fprintf(&b, "\n## %s\n\n| id | what a client sees | likely causes | seen in | severity | try first | checks | faults | reports |\n|---|---|---|---|---|---|---|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", m.ID, cell(m.Symptom), cell(m.Causes), cell(m.Engines), m.Severity, cell(m.Remedy),
			ticked(checksFor(infos, m.ID)), ticked(faults[m.ID]), strings.Join(m.Reports, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell writes a text into a table.
func cell(s string) string {
	return strings.ReplaceAll(s, "|", `\|`)
}

func ticked(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "`" + strings.Join(list, "`, `") + "`"
}

// checksFor returns the checks that cover a mode.
func checksFor(infos []gates.Info, mode string) []string {
	var out []string
	for _, i := range infos {
		if slices.Contains(i.Modes, mode) {
			out = append(out, i.ID)
		}
	}
	return out
}

// explainMode writes one entry of the taxonomy.
func explainMode(c console, m taxonomy.Mode, infos []gates.Info) {
	fmt.Fprintf(c.out, "%s  %s\n\n  %s\n", m.ID, m.Area, m.Symptom)
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(c.out, "\n  %s\n    %s\n", label, strings.TrimSpace(wrap(text, 100, "    ")))
		}
	}
	line("likely causes", m.Causes)
	line("seen in", m.Engines)
	line("try first", m.Remedy)
	checks := checksFor(infos, m.ID)
	line("looked for by", strings.Join(checks, ", "))
	if len(checks) == 0 {
		line("looked for by", "no check yet")
	}
	if faults := selftest.Modes()[m.ID]; len(faults) > 0 {
		line("imitated by the faults", strings.Join(faults, ", "))
		line("run next", "infbench faultproxy --upstream URL --fault "+faults[0])
	}
	line("reported at", strings.Join(m.Reports, ", "))
}
