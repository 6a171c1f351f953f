package app

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"infbench/gates"
	"infbench/stages/static"
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
		for k, d := range i.Does {
			if k == 0 {
				b.WriteString("- what engines do with it:\n")
			}
			fmt.Fprintf(&b, "  - %s: %s\n", d.Engine, d.Does)
		}
		list("likely causes", i.Causes)
		list("next", i.Next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// schemesPage writes docs/SCHEMES.md from the tables that the checks judge by.
func schemesPage(w io.Writer, schemes []static.SchemeInfo, named []string) error {
	var b strings.Builder
	b.WriteString("# Quantisation schemes\n\nWhat stage 0 expects a quantised layer to store, printed by `infbench checks --schemes` from the tables that it judges by; a test keeps this page\n" +
		"equal to the code. A layer has K inputs and N outputs; `/` rounds up; axes of size one do not count; `g` is the group size (K where it is -1), `bits`\n" +
		"the declared width. Stacked experts have one more axis in front. A dtype or shape that is left out is not looked at.\n\n" +
		"A method that is not here is reported as unknown and its tensors as not verified, never as right. Known by name alone: " + strings.Join(named, ", ") + ".\n")
	for _, s := range schemes {
		fmt.Fprintf(&b, "\n## `%s`\n\nDeclared in %s.\n", strings.Join(s.Methods, "`, `"), s.Declared)
		for _, v := range s.Variants {
			fmt.Fprintf(&b, "\n### %s\n\nMeant by: %s.\n\n| tensor | dtype | shape | required |\n|---|---|---|---|\n", v.Name, v.When)
			for _, p := range v.Parts {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(p.Names, "` or `"), cmp.Or(strings.Join(p.Types, ", "), "any"), cmp.Or(p.Shape, "any"), p.When)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
