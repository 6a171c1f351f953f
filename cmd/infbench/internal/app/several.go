package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record"
	"infbench/stages"
	"infbench/stages/performance"
)

// maxTargets bounds the targets of one run.
const maxTargets = 8

// beside is what a run knows of those that it takes turns with.
type beside struct {
	turns *turns
	index int
	seed  uint64 // of the prompts, the same for all
	ids   []string
}

// several runs the same stages against several targets: the gates of one after another, then
// the load points in turns. Each leaves its own verdicts and its own record.
func several(c console, ctx *cli.Context, command string, s settings, recorded bool, numbers ...gates.Stage) error {
	if err := s.manySided(ctx); err != nil {
		return err
	}
	if s.deadline > 0 {
		within, cancel := context.WithTimeoutCause(ctx.Context, s.deadline, errDeadline)
		defer cancel()
		ctx.Context, s.deadline = within, 0
	}
	runs := make([]*pipeline, len(s.Targets))
	outs := make([]bytes.Buffer, len(s.Targets))
	var ids []string
	for i, target := range s.Targets {
		set := s
		set.Target = target
		said := &labelled{fmt.Sprintf("target %d: ", i+1), c.err}
		p, err := prepared(console{&outs[i], said}, ctx, command, set, recorded)
		if err != nil {
			return err
		}
		p.id = record.NewRunID(time.Now())
		ids = append(ids, p.id)
		runs[i] = p
	}
	seed := runs[0].ses.seed()
	// As in a single measurement, which would restore it while another one goes on.
	defer performance.Quiet()()
	order := newTurns(len(runs), seed)
	codes := make([]error, len(runs))
	var all sync.WaitGroup
	for i, p := range runs {
		p.beside = &beside{order, i, seed, ids}
		all.Go(func() {
			defer order.leave(i)
			if codes[i] = order.take(i); codes[i] == nil {
				codes[i] = p.run(numbers...)
			}
		})
	}
	all.Wait()
	return together(c, ctx, command, s, runs, outs, codes)
}

// together shows what came of all, one after another and then side by side.
func together(c console, ctx *cli.Context, command string, s settings, runs []*pipeline, outs []bytes.Buffer, codes []error) error {
	exit := stages.ExitHealthy
	var perfs []record.PerfRecord
	var reports []render.Raw
	for i, p := range runs {
		var done exitError
		switch {
		case codes[i] == nil:
		case errors.As(codes[i], &done):
			exit = max(exit, done.code)
		default:
			return codes[i] // usage, or a report that could not be written
		}
		reports = append(reports, outs[i].Bytes())
		if !p.perf.IsZero() {
			perfs = append(perfs, p.perf)
		}
		if s.json {
			continue
		}
		if !s.line {
			fmt.Fprintf(c.out, "target %d of %d\n", i+1, len(runs))
		}
		if _, err := c.out.Write(outs[i].Bytes()); err != nil {
			return reportError{exit, err}
		}
		if !s.line {
			fmt.Fprintln(c.out)
		}
	}
	var err error
	switch {
	case command == "baseline":
		return compared(c, ctx, runs, exit)
	case s.json:
		err = render.JSONTogether(c.out, command, exit, reports)
	case !s.line && len(perfs) == len(runs):
		err = render.SideBySide(c.out, render.Style{Colour: coloured(ctx, c.out)}, perfs)
	}
	if err != nil {
		return reportError{exit, err}
	}
	return exitOf(exit)
}

// manySided refuses what can be said of one target only.
func (s settings) manySided(ctx *cli.Context) error {
	var one []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--image", s.Identity.Image != ""},
		{"--engine-log", s.Hardware.EngineLog != ""},
		{"--report", s.report != ""},
		{"--resume", ctx.String("resume") != ""},
	} {
		if f.set {
			one = append(one, f.name)
		}
	}
	switch seen := map[string]bool{}; {
	case one != nil:
		return usagef("%s: of one target only, and there are %d", strings.Join(one, ", "), len(s.Targets))
	case len(s.Targets) > maxTargets:
		return usagef("%d targets: want at most %d", len(s.Targets), maxTargets)
	default:
		for _, t := range s.Targets {
			if t == "" || seen[t] {
				return usagef("a target is empty or named twice")
			}
			seen[t] = true
		}
	}
	return nil
}

// caveats say that the machine was shared in turns.
func (b *beside) caveats() []string {
	var others []string
	for i, id := range b.ids {
		if i != b.index {
			others = append(others, id)
		}
	}
	return []string{fmt.Sprintf("measured in turns with other targets (%s), load point by load point in random order of seed %d", strings.Join(others, ", "), b.seed)}
}

// labelled writes each message with a label before it.
type labelled struct {
	label string
	w     io.Writer
}

func (l *labelled) Write(b []byte) (int, error) {
	if _, err := l.w.Write(append([]byte(l.label), b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}
