package app

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

func checksCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "checks",
		Usage: "every check: what it claims, what it costs, which faults prove it",
		Flags: append(outputFlags(), &cli.BoolFlag{Name: "markdown", Usage: "the reference page"}),
		Action: func(ctx *cli.Context) error {
			infos := allInfos()
			switch {
			case ctx.Bool("json"):
				e := json.NewEncoder(c.out)
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				return e.Encode(infos)
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
