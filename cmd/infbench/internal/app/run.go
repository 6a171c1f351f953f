package app

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"infbench/gates"
	"infbench/stages/checkpoint/remote"
	"infbench/stages/hardware"
)

// errDeadline says that the time for the whole run is over; what was not asked by then
// is skipped, as when a person stops it.
var errDeadline = fmt.Errorf("the deadline for the whole run has passed: %w", gates.ErrStopped)

func runCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "stages 0 to 4, one record",
		Description: `Takes an endpoint through all five stages, cheapest first. The first failure ends the run; the record holds the
verdicts either way, and numbers only when the gates passed.

Examples:
   infbench run --target http://127.0.0.1:8000 --checkpoint ./model --device "sm_90 x1"
   infbench run -c example.toml --json
   infbench run --target http://127.0.0.1:8000 --arrival sessions:n=1 --arrival poisson:rate=2 --per-level 30s
   infbench run --target http://127.0.0.1:8000 --target http://127.0.0.1:8001
                                                                     side by side, in turns; each with its own gates and record
   infbench run --target http://127.0.0.1:8000 --resume FILE.journal  a run that was stopped while it measured, with the flags it had`,
		Flags: join(commonFlags(), severalTargets(targetFlags()), hardwareFlags(), correctnessFlags(), performanceFlags(), checkpointFlags(), evidenceFlags()),
		Action: func(ctx *cli.Context) error {
			return pipe(c, ctx, "run", true, true, gates.Static, gates.Hardware, gates.Smoke, gates.Correctness, gates.Performance)
		},
	}
}

// pipe runs a plan of the given stages. recorded says whether a record is left even
// without --out.
func pipe(c console, ctx *cli.Context, command string, wantTarget, recorded bool, numbers ...gates.Stage) error {
	s, err := settingsOf(ctx)
	if err != nil {
		return err
	}
	if s.Target == "" && wantTarget {
		return usagef("no target; give --target URL, such as --target http://127.0.0.1:8000")
	}
	if len(s.Targets) > 1 {
		return several(c, ctx, command, s, recorded, numbers...)
	}
	return pipeWith(c, ctx, command, s, recorded, numbers...)
}

// pipeWith is pipe with settings that were read already.
func pipeWith(c console, ctx *cli.Context, command string, s settings, recorded bool, numbers ...gates.Stage) error {
	if s.deadline > 0 {
		within, cancel := context.WithTimeoutCause(ctx.Context, s.deadline, errDeadline)
		defer cancel()
		ctx.Context = within
	}
	p, err := prepared(c, ctx, command, s, recorded)
	if err != nil {
		return err
	}
	return p.run(numbers...)
}

// prepared checks and reads what can be without asking the server.
func prepared(c console, ctx *cli.Context, command string, s settings, recorded bool) (*pipeline, error) {
	ses, err := newSession(s)
	if err != nil {
		return nil, err
	}
	if !s.quiet {
		ses.waiting = func(why string) { fmt.Fprintf(c.err, "waiting for the server: %s\n", ses.redactor.Text(why)) }
		if remote.IsURL(s.Checkpoint) {
			fmt.Fprintln(c.err, "reading the checkpoint's small files and headers over the network")
		}
	}
	if err := ses.openCheckpoint(ctx.Context); err != nil {
		return nil, err
	}
	p := &pipeline{c: c, ctx: ctx, command: command, ses: ses, record: recorded}
	switch {
	case command == "stage0" && ctx.String("device") == autoDevice:
		if p.memory, err = memoryHere(ses.host(ctx.Context)); err != nil {
			return nil, err
		}
	case command == "stage0" && ctx.IsSet("device"):
		if p.memory, err = hardware.MemoryOf(s.Hardware.Device); err != nil {
			return nil, usageError{err.Error()}
		}
	}
	return p, ses.resolveDevice(ctx.Context)
}

func join(lists ...[]cli.Flag) []cli.Flag {
	var out []cli.Flag
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
