// Package app is infbench's command line: one file per command, and what they share.
// The one rule: stdout is the result, stderr is progress and complaint, and the exit
// code is decided here and nowhere else.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/stages"
)

// Version is the harness version that records carry; the linker sets Commit.
var (
	Version = "0.1.0"
	Commit  = ""
)

func harness() string {
	commit := Commit
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				commit = s.Value[:12]
			}
		}
	}
	if commit == "" {
		return "infbench " + Version
	}
	return "infbench " + Version + " " + commit
}

// exitError carries the exit code of a run that was reported already.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// stoppedError says that a command was stopped before it had anything to report.
type stoppedError struct {
	code int
	text string
}

func (e stoppedError) Error() string { return e.text }

// stoppedWhile says what was being done when the context ended, and why it ended.
func stoppedWhile(ctx context.Context, doing string) error {
	if errors.Is(context.Cause(ctx), errDeadline) {
		return stoppedError{stages.ExitFailed, "the deadline has passed while " + doing}
	}
	return stoppedError{stages.ExitInterrupted, "interrupted while " + doing}
}

// reportError says that a run is over and its report could not be written.
type reportError struct {
	code int
	err  error
}

func (e reportError) Error() string { return e.err.Error() }

// usageError is a mistake in the command line or the configuration: nothing was
// examined.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, a ...any) error { return usageError{fmt.Sprintf(format, a...)} }

// console is where a command speaks.
type console struct {
	out, err io.Writer
}

// Run runs the command line and returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &sticky{w: stdout}
	c := console{out, stderr}
	app := newApp(c)
	if len(args) > 2 && args[1] == "replay" {
		args = slices.Concat(args[:2], argumentsLast(app.Command(args[1]), args[2:]))
	}
	err := app.RunContext(ctx, args)
	if out.err != nil && (err == nil || errors.As(err, new(exitError)) || errors.Is(err, out.err)) {
		err = reportError{codeOf(err), out.err}
	}
	var done exitError
	var late reportError
	switch {
	case err == nil:
		return stages.ExitHealthy
	case errors.As(err, &done):
		return done.code
	case errors.As(err, &late):
		fmt.Fprintf(stderr, "infbench: the report could not be written: %v\n", late.err)
		return max(late.code, stages.ExitFailed)
	}
	// What the command-line library itself complains of is usage as well.
	code := stages.ExitUsage
	var stopped stoppedError
	if errors.As(err, &stopped) {
		code = stopped.code
	}
	text := gates.Printable(strings.ReplaceAll(err.Error(), "\n", " "), 0)
	fmt.Fprintf(stderr, "infbench: %s\n", text)
	if hasFlag(args, "json") {
		_ = render.JSONError(stdout, commandOf(args), code, text)
	}
	return code
}

// sticky remembers the first error of writing, and ends with it: a report that was lost is no
// success, whoever noticed it first.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}

func codeOf(err error) int {
	var done exitError
	if errors.As(err, &done) {
		return done.code
	}
	return stages.ExitHealthy
}

func hasFlag(args []string, name string) bool {
	for _, a := range args {
		if a == "--"+name || a == "-"+name {
			return true
		}
	}
	return false
}

func commandOf(args []string) string {
	for _, a := range args[1:] {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

func newApp(c console) *cli.App {
	commands := []*cli.Command{
		runCommand(c), stageCommand(c, 0), stageCommand(c, 1), stageCommand(c, 2), stageCommand(c, 3), stageCommand(c, 4),
		baselineCommand(c), compareCommand(c), listCommand(c), inspectCommand(c), matrixCommand(c), checksCommand(c), explainCommand(c), engineCommand(c), faultproxyCommand(c), selftestCommand(c), probeCommand(c), replayCommand(c), parityCommand(c), soakCommand(c), demoCommand(c), versionCommand(c),
	}
	for _, cmd := range commands {
		cmd.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return err }
		if cmd.Before == nil {
			cmd.Before = noArguments
		}
	}
	return &cli.App{
		Name:  "infbench",
		Usage: "ask an LLM endpoint whether it is right, and only then how fast",
		Description: `Five stages, cheapest first; the first failure ends the run.
   0 static       does the checkpoint hold what its quantisation needs?   (headers only)
   1 hardware     does the engine generate, on which device?
   2 smoke        does it say the right thing on every channel?           (seconds)
   3 correctness  still, at length, in company, on a warm cache?          (a minute)
   4 performance  how fast, for whom, under which arrivals?

Examples:
   infbench demo                                        see all of it, without a server
   infbench stage0 --checkpoint ./model                 before the weights are served
   infbench stage2 --target http://127.0.0.1:8000       after each restart; act on the exit code
   infbench run --target http://127.0.0.1:8000 --checkpoint ./model
   infbench soak --target http://127.0.0.1:8000         before production: hours
   infbench matrix bench/runs/*.jsonl                   what passed where

Exit codes: 0 healthy · 1 warnings only (something was skipped or warned of) · 2 hard failure ·
64 nothing was examined (usage, configuration) · 130 interrupted (what was measured is kept)`,
		HideVersion: true,
		// A path may hold a comma; flags that take several values between commas split them.
		DisableSliceFlagSeparator: true,
		HideHelp:                  false,
		Commands:                  commands,
		Writer:                    c.out,
		ErrWriter:                 c.err,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return err },
		CommandNotFound: func(*cli.Context, string) {
		},
		Action: func(ctx *cli.Context) error {
			if name := ctx.Args().First(); name != "" {
				return usagef("unknown command %.40q%s", name, suggestCommand(name, commands))
			}
			return usagef("no command; infbench --help lists them, infbench demo shows all of it")
		},
		Suggest: false,
	}
}

func suggestCommand(name string, commands []*cli.Command) string {
	for _, c := range commands {
		if strings.HasPrefix(c.Name, name) || strings.HasPrefix(name, c.Name) {
			return fmt.Sprintf("; did you mean %q?", c.Name)
		}
	}
	return "; infbench --help lists them"
}

// noArguments refuses what stands behind the flags: the library stops reading flags
// at the first argument and would run without the rest.
func noArguments(ctx *cli.Context) error {
	if a := ctx.Args().First(); a != "" {
		return usagef("%s takes no argument, and %.60q is one; flags need two dashes and their value right after", ctx.Command.Name, a)
	}
	return nil
}

// onlyFiles refuses arguments that look like flags: they would be taken for files.
func onlyFiles(ctx *cli.Context) error {
	for _, a := range ctx.Args().Slice() {
		if strings.HasPrefix(a, "-") {
			return usagef("%.40q stands after the files; flags come first", a)
		}
	}
	return nil
}

// coloured reports whether w is a terminal that wants colour.
func coloured(ctx *cli.Context, w io.Writer) bool {
	return !ctx.Bool("no-color") && os.Getenv("NO_COLOR") == "" && os.Getenv("CI") == "" && drawable(w)
}
