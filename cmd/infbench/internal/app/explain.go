package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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
   infbench explain CON-04`,
		Flags:  []cli.Flag{jsonFlag()},
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() != 1 {
				return usagef("explain takes one id, such as smoke/known-answer or CON-04; infbench checks lists them")
			}
			id := ctx.Args().First()
			mode, isMode := taxonomy.Lookup(id)
			if isMode && !ctx.Bool("json") {
				explainMode(c, mode, allInfos())
				return nil
			}
			var found []gates.Info
			for _, i := range allInfos() {
				if i.ID == id || slices.Contains(i.Modes, id) {
					found = append(found, i)
				}
			}
			if found == nil {
				return usagef("no check has the id or covers the mode %.60q; infbench checks lists them", id)
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
