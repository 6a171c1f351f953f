package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"infbench/gates"
	"infbench/internal/taxonomy"
)

func explainCommand(c console) *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "one check, or one failure mode and the checks that look for it",
		ArgsUsage: "ID",
		Description: `Examples:
   infbench explain smoke/known-answer
   infbench explain needle                the name alone will do
   infbench explain CON-04`,
		Flags:  []cli.Flag{jsonFlag()},
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() != 1 {
				return usagef("explain takes one id, such as smoke/known-answer or CON-04; infbench checks lists them")
			}
			id := ctx.Args().First()
			mode, isMode := taxonomy.Lookup(strings.ToUpper(id))
			if isMode && !ctx.Bool("json") {
				explainMode(c, mode, allInfos())
				return nil
			}
			found := meant(id, allInfos())
			if found == nil {
				return usagef("no check has the id or covers the mode %.60q%s; infbench checks lists them", id, nearestID(id, allInfos()))
			}
			if ctx.Bool("json") {
				return indented(c.out, found)
			}
			for n, i := range found {
				if n > 0 {
					fmt.Fprintln(c.out)
				}
				explain(c, i)
			}
			return nil
		},
	}
}

// meant returns the checks with that id, name or mode, whatever its case.
func meant(id string, all []gates.Info) []gates.Info {
	var found []gates.Info
	for _, i := range all {
		if strings.EqualFold(i.ID, id) || strings.EqualFold(nameOf(i), id) || slices.Contains(i.Modes, strings.ToUpper(id)) {
			found = append(found, i)
		}
	}
	return found
}

// nameOf is a check's id without its stage.
func nameOf(i gates.Info) string {
	_, name, _ := strings.Cut(i.ID, "/")
	return name
}

// nearestID suggests the id that an unknown one was probably meant to be, "" for none.
func nearestID(id string, all []gates.Info) string {
	id = strings.ToLower(id)
	best, at := "", len(id)/3+1
	near := func(candidate, suggest string) {
		if d := smetrics.WagnerFischer(id, strings.ToLower(candidate), 1, 1, 1); d < at {
			best, at = suggest, d
		}
	}
	if len(id) > 60 { // no id is that long, and the distance costs the product of both
		return ""
	}
	for _, i := range all {
		near(i.ID, i.ID)
		near(nameOf(i), i.ID)
	}
	for _, m := range taxonomy.All() {
		near(m.ID, m.ID)
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

func explain(c console, i gates.Info) {
	fmt.Fprintf(c.out, "%s  (stage %d, about %s, since %s)\n\n  %s\n\n", i.ID, i.Stage, i.Cost, i.Since, i.Title)
	fmt.Fprintf(c.out, "%s\n", wrap(i.Why, 100, "  "))
	list := func(label string, items []string) {
		for n, item := range items {
			if n == 0 {
				fmt.Fprintf(c.out, "\n  %s\n", label)
			}
			fmt.Fprintf(c.out, "    %s\n", item)
		}
	}
	needs := make([]string, len(i.Needs))
	for k, n := range i.Needs {
		needs[k] = string(n)
	}
	list("needs", needs)
	list("covers", []string{strings.Join(i.Modes, ", ")})
	list("proven on the faults", []string{strings.Join(i.Faults, ", ")})
	does := make([]string, len(i.Does))
	for k, d := range i.Does {
		does[k] = strings.TrimSpace(wrap(d.Engine+": "+d.Does, 100, "      "))
	}
	list("what engines do with it", does)
	list("likely causes", i.Causes)
	list("run next", i.Next)
}

// wrap breaks text into lines of at most width letters behind an indent.
func wrap(text string, width int, indent string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, indent+line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, indent+line), "\n")
}
