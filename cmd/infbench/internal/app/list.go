package app

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record"
)

func complain(c console, path string, err error) {
	fmt.Fprintf(c.err, "infbench: %s: %s\n", gates.Printable(path, 200), gates.Printable(err.Error(), 300))
}

func listCommand(c console) *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "the runs of record files, one a line",
		ArgsUsage: "[FILE…]",
		Description: `Shows when each run was made, by which command, of what, and what came of it. Without a file it reads bench/runs/*.jsonl.
No figure is shown: infbench inspect FILE#RUN shows those of one run.

Examples:
   infbench list
   infbench list bench/runs/vllm_*.jsonl
   infbench list --json | jq .`,
		Flags:  []cli.Flag{jsonFlag()},
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			files, err := expand(ctx.Args().Slice())
			if err != nil {
				return err
			}
			var rows []listed
			for _, path := range files {
				for run, err := range runsOf(path) {
					if ctx.Context.Err() != nil {
						return stoppedWhile(ctx.Context, "records were read; nothing is shown")
					}
					if err != nil {
						complain(c, path, err)
						continue
					}
					rows = append(rows, listedOf(path, run))
				}
			}
			if len(rows) == 0 {
				return usagef("no run could be read from %d record files", len(files))
			}
			if ctx.Bool("json") {
				e := json.NewEncoder(c.out)
				e.SetIndent("", "  ")
				return e.Encode(struct {
					Schema string   `json:"schema"`
					Runs   []listed `json:"runs"`
				}{"infbench.list/v1", rows})
			}
			t := tabwriter.NewWriter(c.out, 2, 8, 2, ' ', 0)
			fmt.Fprintln(t, "run\tcommand\tsubject\tcame to\tholds")
			for _, r := range rows {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Command, r.Subject, r.came(), r.Holds)
			}
			return t.Flush()
		},
	}
}

// listed is one run in a list. Its texts come from a record, and are shown as they may be.
type listed struct {
	File     string    `json:"file"`
	ID       string    `json:"id"`
	Started  time.Time `json:"started"`
	Command  string    `json:"command"`
	Subject  string    `json:"subject"`
	Exit     int       `json:"exit"`
	Complete bool      `json:"complete"`
	Cause    string    `json:"cause,omitempty"`
	// Holds is "verdicts", "a sweep of n levels" or "a baseline of n cells".
	Holds string `json:"holds"`
}

func (l listed) came() string {
	if !l.Complete {
		return gates.Printable("stopped: "+l.Cause, 60)
	}
	return fmt.Sprintf("exit %d", l.Exit)
}

func listedOf(path string, run record.Run) listed {
	p := run.Parts()
	l := listed{
		File: gates.Printable(path, 300), ID: p.ID, Started: p.Started, Command: p.Command, Subject: gates.Printable(p.Identity.Subject().String(), 160), Exit: p.Exit,
		Complete: p.Ending.Complete, Cause: p.Ending.Cause, Holds: "verdicts",
	}
	if perf, ok := run.Performance(); ok {
		l.Holds = fmt.Sprintf("a sweep of %d levels", len(perf.Levels()))
		if b, ok := perf.Baseline(); ok {
			l.Holds = fmt.Sprintf("a baseline of %d cells", len(b.Cells))
		}
	}
	return l
}

func inspectCommand(c console) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "what one run recorded, from the record alone",
		ArgsUsage: "FILE#RUN | FILE",
		Description: `Shows a run as it was recorded: who was examined, the verdicts, and the figures where its gates vouch for them. Of a file without
a run the last one is shown. What is shown is worked out from the record again; one that does not follow from its samples is refused.

Examples:
   infbench inspect bench/runs/vllm.jsonl
   infbench inspect bench/runs/vllm.jsonl#20261130T120000Z-0123abcd
   infbench inspect --markdown run.jsonl > run.md`,
		Flags:  []cli.Flag{jsonFlag(), &cli.BoolFlag{Name: "markdown", Usage: "Markdown"}, &cli.BoolFlag{Name: "all", Usage: "verdicts that passed too"}},
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() != 1 {
				return usagef("inspect takes one FILE or FILE#RUN; infbench list shows the runs of files")
			}
			run, _, err := runOf(c, ctx.Args().First(), func(record.Run) bool { return true })
			if err != nil {
				return err
			}
			switch {
			case ctx.Bool("json"):
				raw, err := run.MarshalJSON()
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.out, "%s\n", raw)
				return err
			case ctx.Bool("markdown"):
				return render.RunMarkdown(c.out, run)
			}
			return render.Run(c.out, render.Style{Colour: coloured(ctx, c.out), All: ctx.Bool("all")}, run, about)
		},
	}
}
