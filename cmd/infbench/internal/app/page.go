package app

import (
	"fmt"
	"io"
	"strings"

	"infbench/gates"
)

// checksPage writes docs/CHECKS.md from the checks' own documentation.
func checksPage(w io.Writer, infos []gates.Info) error {
	var b strings.Builder
	b.WriteString("# Checks\n\nPrinted by `infbench checks --markdown`; a test keeps this page equal to the code. `infbench explain ID` prints one entry.\n")
	stage := gates.Stage(255)
	for _, i := range infos {
		if i.Stage != stage {
			stage = i.Stage
			fmt.Fprintf(&b, "\n## Stage %d: %s\n", stage, stage)
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n**%s** (since %s, about %s)\n\n%s\n\n", i.ID, i.Title, i.Since, i.Cost, strings.Join(strings.Fields(i.Why), " "))
		list := func(label string, items []string) {
			if len(items) > 0 {
				fmt.Fprintf(&b, "- %s: %s\n", label, strings.Join(items, ", "))
			}
		}
		needs := make([]string, len(i.Needs))
		for k, n := range i.Needs {
			needs[k] = string(n)
		}
		list("needs", needs)
		list("covers", i.Modes)
		list("proven on", i.Faults)
		list("reported for", i.Engines)
		list("likely causes", i.Causes)
		list("next", i.Next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
