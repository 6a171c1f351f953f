package app

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"infbench/baseline"
	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record"
)

func compareCommand(c console) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "did it change, and by how much: two baselines",
		ArgsUsage: "BEFORE AFTER",
		Description: `Compares two records that infbench baseline has left. Each is FILE, of which the last baseline counts, or FILE#RUN.
It refuses, with every reason at once, what cannot be compared: another workload, other prompts, another accelerator, failed gates, an incomplete run. There is
no --force; --explain says what each reason means. What is within the noise of the repeats is "no detectable change", with the change that would have shown.

Exit codes: 0 no regression, 1 something could not be told, 2 a regression, or refused.

Examples:
   infbench compare before.jsonl after.jsonl
   infbench compare --markdown before.jsonl after.jsonl            for a merge request
   infbench compare bench/runs/a.jsonl#20261130T120000Z-0123abcd after.jsonl
   infbench compare --same accelerator before.jsonl after.jsonl    the records do not know it, and it is the same machine`,
		Flags: []cli.Flag{
			jsonFlag(),
			&cli.BoolFlag{Name: "markdown", Usage: "Markdown, for a merge request"},
			&cli.BoolFlag{Name: "explain", Usage: "what each reason for a refusal means, and each word of a comparison"},
			&cli.StringSliceFlag{Name: "same", Usage: "`PART` that is not known and is the same on both sides: " + strings.Join(baseline.Statable(), ", ")},
		},
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("explain") && ctx.NArg() == 0 {
				return render.ExplainComparison(c.out)
			}
			if ctx.NArg() != 2 {
				return usagef("compare takes two records, BEFORE and AFTER; %d were given", ctx.NArg())
			}
			if err := comparable(ctx); err != nil {
				return err
			}
			before, err := sideOf(c, ctx.Args().Get(0))
			if err != nil {
				return err
			}
			after, err := sideOf(c, ctx.Args().Get(1))
			if err != nil {
				return err
			}
			return showComparison(c, ctx, before, after, baseline.Compare(before, after, ctx.StringSlice("same")...))
		},
	}
}

func showComparison(c console, ctx *cli.Context, before, after baseline.Side, cmp baseline.Comparison) error {
	var err error
	switch {
	case ctx.Bool("json"):
		err = render.ComparisonJSON(c.out, before.Name, after.Name, cmp)
	case ctx.Bool("markdown"):
		render.ComparisonMarkdown(c.out, before.Name, after.Name, cmp)
	default:
		if err = render.Comparison(c.out, render.Style{Colour: coloured(ctx, c.out)}, before.Name, after.Name, cmp); err == nil && ctx.Bool("explain") {
			err = render.ExplainComparison(c.out)
		}
	}
	if err != nil {
		return err
	}
	return exitOf(cmp.Exit())
}

// sideOf reads one side: FILE or FILE#RUN.
func sideOf(c console, arg string) (baseline.Side, error) {
	run, name, err := runOf(c, arg, func(r record.Run) bool {
		p, ok := r.Performance()
		if !ok {
			return r.Parts().Command == "baseline"
		}
		_, ok = p.Baseline()
		return ok
	})
	if err != nil {
		return baseline.Side{}, err
	}
	return baseline.NewSide(name, run), nil
}

// runOf finds the run that an argument names: FILE#RUN, or FILE, of which the last run counts
// that is wanted, or else the last one at all.
func runOf(c console, arg string, wanted func(record.Run) bool) (record.Run, string, error) {
	path, id, named := arg, "", false
	if _, err := os.Stat(arg); err != nil {
		if i := strings.LastIndexByte(arg, '#'); i >= 0 {
			path, id, named = arg[:i], arg[i+1:], true
		}
	}
	var last, fallback record.Run
	unread := 0
	for run, err := range runsOf(path) {
		switch {
		case err != nil:
			if _, usage := err.(usageError); usage { //nolint:errorlint // made here
				return record.Run{}, "", err
			}
			if unread++; unread <= mostComplaints {
				complain(c, path, err)
			}
		case named && run.Parts().ID != id:
		case wanted(run):
			last = run
		default:
			fallback = run
		}
	}
	if unread > mostComplaints {
		complain(c, path, fmt.Errorf("%d more lines skipped", unread-mostComplaints))
	}
	if last.IsZero() {
		last = fallback
	}
	if last.IsZero() {
		if named {
			return record.Run{}, "", usagef("no run %q in %s: infbench list %s shows them", gates.Printable(id, 60), gates.Printable(path, 120), gates.Printable(path, 120))
		}
		return record.Run{}, "", usagef("no run could be read from %s", gates.Printable(path, 120))
	}
	return last, path + "#" + last.Parts().ID, nil
}

// mostComplaints bounds what is said of a file that is no record file.
const mostComplaints = 5

// runsOf reads the runs of a record file; a file that cannot be opened is the first error.
func runsOf(path string) func(yield func(record.Run, error) bool) {
	return func(yield func(record.Run, error) bool) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			yield(record.Run{}, usagef("there is no record file %s", gates.Quote(path, 120)))
			return
		case err != nil || !info.Mode().IsRegular():
			yield(record.Run{}, usagef("record file %s is no regular file", gates.Quote(path, 120)))
			return
		}
		f, err := os.Open(path)
		if err != nil {
			yield(record.Run{}, usagef("record file: %v", err))
			return
		}
		defer func() { _ = f.Close() }()
		for run, err := range record.Read(bufio.NewReader(f)) {
			if !yield(run, err) {
				return
			}
		}
	}
}
