package app

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"infbench/internal/faultproxy"
	"infbench/internal/taxonomy"
	"infbench/stages/static"
)

func checksCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "checks",
		Usage: "every check: what it claims, what it costs, which faults prove it",
		Flags: append([]cli.Flag{jsonFlag()}, &cli.BoolFlag{Name: "markdown", Usage: "the reference page"},
			&cli.BoolFlag{Name: "schemes", Usage: "the quantisation schemes that stage 0 covers, with the tensors of each"},
			&cli.BoolFlag{Name: "taxonomy", Usage: "the failure modes by what a client sees, and who looks for them"},
			&cli.BoolFlag{Name: "faults", Usage: "the faults that the fixtures inject, with their parameters"}),
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("faults") {
				return faultList(c.out)
			}
			if ctx.Bool("taxonomy") {
				if ctx.Bool("json") {
					return indented(c.out, taxonomy.All())
				}
				return taxonomyPage(c.out, allInfos())
			}
			if ctx.Bool("schemes") {
				if ctx.Bool("json") {
					return indented(c.out, static.Schemes())
				}
				return schemesPage(c.out, static.Schemes(), static.NamedOnly())
			}
			infos := allInfos()
			switch {
			case ctx.Bool("json"):
				return indented(c.out, infos)
			case ctx.Bool("markdown"):
				return checksPage(c.out, infos)
			}
			t := tabwriter.NewWriter(c.out, 2, 8, 2, ' ', 0)
			for _, i := range infos {
				fmt.Fprintf(t, "%s\t%s\t%s\n", i.ID, i.Cost, i.Title)
			}
			return t.Flush()
		},
	}
}

// indented writes a value as JSON for people.
func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// faultList writes what a fixture's "fault:" line may name.
func faultList(w io.Writer) error {
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	for _, f := range faultproxy.Faults() {
		var params []string
		for _, p := range f.Params {
			params = append(params, p.Name+"="+p.Default)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.ID, strings.Join(params, ","), strings.Join(f.Modes, " "), f.Doc)
	}
	fmt.Fprintln(t)
	for _, p := range faultproxy.Conditions() {
		fmt.Fprintf(t, "any fault\t%s=%s\t\t%s\n", p.Name, p.Default, p.Doc)
	}
	return t.Flush()
}
