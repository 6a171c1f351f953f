package app

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"infbench/matrix"
	"infbench/record"
)

func matrixCommand(c console) *cli.Command {
	return &cli.Command{
		Name:      "matrix",
		Usage:     "what passed where: image by checkpoint",
		ArgsUsage: "FILE…",
		Description: `Reads record files and shows, for each image and checkpoint, what its latest run came to. Failures are rows like any other;
what was not run says why. Numbers are not ranked here.

Examples:
   infbench matrix bench/runs/*.jsonl
   infbench matrix --markdown bench/runs/*.jsonl > matrix.md

With --kernels it reads images, wheels, folders, or reports of stage 1 instead, and shows their compiled kernels against devices:
   infbench matrix --kernels --device sm_90 --device sm_120 old.tar new.tar
   infbench matrix --kernels reports/*.json                                 what infbench stage1 --kernels PATH --json wrote`,
		Flags: append([]cli.Flag{jsonFlag()}, &cli.BoolFlag{Name: "markdown", Usage: "a Markdown table"},
			&cli.BoolFlag{Name: "kernels", Usage: "compiled kernels against devices"},
			&cli.StringSliceFlag{Name: "device", DefaultText: "the common ones", Usage: "with --kernels: accelerator `NAME`, such as sm_120, h200 or gfx942; may be repeated"},
			platformFlag()),
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("kernels") {
				return kernelMatrix(c, ctx)
			}
			if ctx.IsSet("device") || ctx.IsSet("platform") {
				return usagef("--device and --platform go with --kernels")
			}
			files, err := expand(ctx.Args().Slice())
			if err != nil {
				return err
			}
			b := matrix.NewBuilder()
			for _, path := range files {
				if err := readInto(ctx.Context, c, b, path); err != nil {
					return err
				}
			}
			if len(b.Matrix().Cells()) == 0 {
				return usagef("no run could be read from %d record files", len(files))
			}
			m := b.Matrix()
			switch {
			case ctx.Bool("json"):
				return m.JSON(c.out)
			case ctx.Bool("markdown"):
				return m.Markdown(c.out)
			}
			return m.Text(c.out)
		},
	}
}

// expand resolves patterns that the shell left alone; no argument means all recorded
// runs.
func expand(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		patterns = []string{filepath.Join("bench", "runs", "*.jsonl")}
	}
	var out []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, usagef("%.80q is no pattern", p)
		}
		if len(found) == 0 {
			return nil, usagef("no record file at %.120q; infbench run leaves one", p)
		}
		out = append(out, found...)
	}
	return out, nil
}

func readInto(ctx context.Context, c console, b *matrix.Builder, path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return usagef("record file %.120q is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return usagef("record file: %v", err)
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReader(f)
	// A record has one document a line; a report begins with a brace alone.
	if first, _ := r.Peek(2); string(first) == "{\n" {
		return usagef("%.120q is a report and no record file; with --kernels, the matrix is made of reports of stage 1", path)
	}
	for run, err := range record.Read(r) {
		if ctx.Err() != nil {
			return stoppedWhile(ctx, "records were read; nothing is shown")
		}
		if err != nil {
			fmt.Fprintf(c.err, "infbench: %s: %v\n", path, err)
			continue
		}
		b.Add(run)
	}
	return nil
}
