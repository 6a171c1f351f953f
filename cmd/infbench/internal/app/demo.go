package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/gates"
	"infbench/internal/refengine"
	"infbench/matrix"
	"infbench/stages"
	"infbench/stages/checkpoint/demo"
	"infbench/stages/correctness"
)

func demoCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "all five stages on the embedded engine and a small checkpoint",
		Description: `Needs no server and no network: serves the embedded engine on the loopback, writes a small checkpoint, takes both through
the five stages, leaves a record below bench/runs and shows its row of the matrix.`,
		Flags: append(outputFlags(), &cli.StringFlag{Name: "out", Usage: "record `FILE` to append to"},
			&cli.StringFlag{Name: "keep", Usage: "leave the checkpoint in `FOLDER`, to try stage0 on"},
			&cli.DurationFlag{Name: "per-level", Value: 3 * time.Second, Usage: "least time for which a level starts requests"},
			&cli.StringFlag{Name: "api-key-env", Value: "OPENAI_API_KEY", Hidden: true}),
		Action: func(ctx *cli.Context) error { return runDemo(c, ctx) },
	}
}

// runDemo leaves the engine out of the run's way: it is served like any other.
func runDemo(c console, ctx *cli.Context) error {
	dir, err := os.MkdirTemp("", "infbench-demo-")
	if err != nil {
		return usagef("demo: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ckpt := filepath.Join(dir, "demo-llama-fp8")
	if keep := ctx.String("keep"); keep != "" {
		ckpt = keep
	}
	if err := demo.Write(ckpt); err != nil {
		return usagef("demo checkpoint: %v", err)
	}
	e, err := refengine.New(refengine.Config{Version: Version, Image: "builtin"})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	server, err := refengine.Serve(ctx.Context, "127.0.0.1:0", e)
	if err != nil {
		return usagef("demo: %v", err)
	}
	s, err := settingsOf(ctx)
	if err != nil {
		return err
	}
	s.Target, s.Checkpoint, s.key, s.workload.PerLevel = server.URL(), ckpt, "", ctx.Duration("per-level")
	s.Budget = correctness.QuickBudget // each check puts its questions once
	ses, err := newSession(s)
	if err != nil {
		return err
	}
	if err := ses.openCheckpoint(ctx.Context); err != nil {
		return err
	}
	p := &pipeline{c: c, ctx: ctx, command: "demo", ses: ses, record: true}
	err = p.run(gates.Static, gates.Hardware, gates.Smoke, gates.Correctness, gates.Performance)
	var done exitError
	if s.json || err != nil && !errors.As(err, &done) || done.code == stages.ExitInterrupted {
		return err
	}
	if showErr := demoMatrix(ctx.Context, c, p); showErr != nil {
		return showErr
	}
	fmt.Fprintf(c.out, "\nyour own endpoint:\n  infbench run --target http://HOST:PORT --checkpoint PATH --device \"sm_90 x1\"\n")
	return err
}

func demoMatrix(ctx context.Context, c console, p *pipeline) error {
	if p.store == nil {
		return nil
	}
	b := matrix.NewBuilder()
	if err := readInto(ctx, c, b, p.store.Path()); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\ninfbench matrix %s\n", p.store.Path())
	return b.Matrix().Text(c.out)
}
