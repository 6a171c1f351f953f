package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/render"
	"infbench/internal/whole"
	"infbench/record"
	"infbench/soak"
	"infbench/stages"
	"infbench/stages/endpoint"
)

func soakCommand(c console) *cli.Command {
	d := soak.DefaultPlan()
	return &cli.Command{
		Name:  "soak",
		Usage: "is it still right after hours: stages 2 and 3 by turns beside a light load",
		Description: `Begins with stage 2 and all of stage 3, which must hold; then their checks take turns, round after round, beside a few sessions whose
answers are judged too. What fails then fails with the time of its onset, and is told at once. Restarts are noticed, and what creeps:
latency, memory, the queue, the cache. Each event is a line of a journal, so that a soak which was killed can be gone on with.

Of speed it says how it changes, never how much it is: for that there is stage 4.

Examples:
   infbench soak --target http://127.0.0.1:8000                                8 hours, a round every 5 minutes
   infbench soak --target http://127.0.0.1:8000 --for 24h --every 10m --sessions 4
   infbench soak --target http://127.0.0.1:8000 --keep-going                   does it heal, by itself or by a restart?
   infbench soak --resume bench/soak/RUN.jsonl --target http://127.0.0.1:8000  after a kill, with the plan and the time that is left

Exit codes: 0 healthy · 1 something was warned of, skipped, crept or cannot be told · 2 a failure or a restart · 64 nothing was examined ·
130 interrupted (what was seen is kept; --resume goes on)`,
		Flags: join([]cli.Flag{
			&cli.DurationFlag{Name: "for", Value: d.For, Usage: "how long it lasts"},
			&cli.DurationFlag{Name: "every", Value: d.Every, Usage: "time from one round to the next"},
			&cli.IntFlag{Name: "sessions", Value: d.Sessions, Usage: "sessions of the load beside the checks; never more than the server has slots"},
			&cli.BoolFlag{Name: "keep-going", Usage: "a failure after a clean start does not end it"},
			&cli.BoolFlag{Name: "allow-restarts", Usage: "a restart of the server is no failure, and is gone on after"},
			&cli.StringFlag{Name: "journal", DefaultText: "bench/soak/<run>.jsonl", Usage: "new `FILE` for the events"},
			&cli.StringFlag{Name: "resume", Usage: "journal `FILE` to go on with; its plan counts, and the target must be the same"},
		}, commonFlags(), targetFlags(), evidenceFlags()),
		Action: func(ctx *cli.Context) error { return runSoak(c, ctx) },
	}
}

// runSoak runs a soak, or goes on with one.
func runSoak(c console, ctx *cli.Context) error {
	s, err := settingsOf(ctx)
	if err != nil {
		return err
	}
	if s.Target == "" {
		return usagef("no target; give --target URL, such as --target http://127.0.0.1:8000")
	}
	plan := soak.DefaultPlan()
	plan.For, plan.Every, plan.Sessions = ctx.Duration("for"), ctx.Duration("every"), ctx.Int("sessions")
	plan.KeepGoing, plan.AllowRestarts = ctx.Bool("keep-going"), ctx.Bool("allow-restarts")
	if err := plan.Validate(); err != nil {
		return usageError{err.Error()}
	}
	ses, err := newSession(s)
	if err != nil {
		return err
	}
	defer ses.close()
	if s.deadline > 0 {
		within, cancel := context.WithTimeoutCause(ctx.Context, s.deadline, errDeadline)
		defer cancel()
		ctx.Context = within
	}
	if !s.quiet {
		ses.waiting = func(why string) { fmt.Fprintf(c.err, "waiting for the server: %s\n", ses.redactor.Text(why)) }
	}
	if err := ses.resolveDevice(ctx.Context); err != nil {
		return err
	}
	ses.host(ctx.Context) // before the load: nothing runs beside it
	k := &soaking{c: c, p: &pipeline{c: c, ctx: ctx, command: "soak", ses: ses, record: true, id: record.NewRunID(time.Now()), start: time.Now()}}
	if err := s.reportable(); err != nil {
		return usageError{ses.redactor.Text(err.Error())}
	}
	if err := k.openJournal(plan); err != nil {
		return usageError{ses.redactor.Text(err.Error())}
	}
	defer k.journal.Close()
	if err := k.p.probeStore(); err != nil {
		return usageError{ses.redactor.Text(err.Error())}
	}
	return k.run(plan)
}

// soaking is one sitting of a soak on the command line.
type soaking struct {
	c       console
	p       *pipeline
	journal *soak.Journal
	past    *soak.History
	lost    error // why the journal could not be written any more
}

// openJournal makes the journal, or opens the one to go on with.
func (k *soaking) openJournal(plan soak.Plan) (err error) {
	ctx := k.p.ctx
	resume, path := ctx.String("resume"), ctx.String("journal")
	if resume == "" {
		if path == "" {
			path = filepath.Join("bench", "soak", k.p.id+".jsonl")
		}
		k.journal, err = soak.Begin(path)
		return err
	}
	if path != "" {
		return errors.New("--resume goes on with its own journal: leave --journal out")
	}
	var skipped []error
	if k.journal, k.past, skipped, err = soak.GoOn(resume); err != nil {
		return err
	}
	if err = k.agrees(plan); err == nil {
		err = k.past.Resumable()
	}
	if err != nil {
		k.journal.Close()
		return fmt.Errorf("%w (%s)", err, resume)
	}
	for _, line := range skipped {
		fmt.Fprintf(k.c.err, "%s: %v\n", resume, line)
	}
	return nil
}

// agrees refuses flags that say otherwise than the journal's plan.
func (k *soaking) agrees(plan soak.Plan) error {
	was := k.past.Plan()
	asked := was
	for _, f := range []struct {
		name string
		set  func()
	}{
		{"for", func() { asked.For = plan.For }},
		{"every", func() { asked.Every = plan.Every }},
		{"sessions", func() { asked.Sessions = plan.Sessions }},
		{"keep-going", func() { asked.KeepGoing = plan.KeepGoing }},
		{"allow-restarts", func() { asked.AllowRestarts = plan.AllowRestarts }},
	} {
		if k.p.ctx.IsSet(f.name) {
			f.set()
		}
	}
	if d := was.Difference(asked); d != "" {
		return fmt.Errorf("the flags ask for another soak than the journal's: %s; leave them out", d)
	}
	return nil
}

func (k *soaking) run(plan soak.Plan) error {
	ses := k.p.ses
	if !ses.set.quiet {
		fmt.Fprintf(k.c.err, "journal %s\n", k.journal.Path())
	}
	k.p.kept = newKeeper(k.p)
	ses.observe = k.p.kept.exchange
	tell := render.SoakPlain(k.c.err, ses.set.quiet)
	h, err := soak.Run(k.p.ctx.Context, soak.Options{
		Plan: plan, Run: k.p.id, Harness: harness(), Open: ses.reopen, Past: k.past, Seal: ses.redactor, Scrub: ses.redactor.Text, Witness: witness{k.p.kept},
		Emit: func(e soak.Entry) {
			k.keep(e)
			tell(e)
		},
	})
	var mismatch *soak.MismatchError
	switch {
	case errors.As(err, &mismatch):
		return usageError{ses.redactor.Text(err.Error())}
	case err != nil && k.p.ctx.Context.Err() != nil:
		return stoppedWhile(k.p.ctx.Context, "the server was asked what it is; the soak was not gone on with")
	case err != nil:
		return stoppedError{stages.ExitFailed, ses.redactor.Text(err.Error()) + "; the soak was not gone on with"}
	}
	k.p.kept.complain(k.c.err)
	return k.finish(h)
}

// keep writes an event into the journal. Where it cannot take it any more, the line goes to
// stderr: what was seen is not lost, and the soak goes on.
func (k *soaking) keep(e soak.Entry) {
	if k.lost == nil {
		if k.lost = k.journal.Append(e); k.lost == nil {
			return
		}
		fmt.Fprintf(k.c.err, "infbench: the journal cannot be written any more: %s; its lines follow here\n", k.p.ses.redactor.Text(k.lost.Error()))
	}
	if line, err := e.MarshalJSON(); err == nil {
		fmt.Fprintf(k.c.err, "%s\n", line)
	}
}

// finish records and shows what came of the soak.
func (k *soaking) finish(h *soak.History) error {
	p := k.p
	set := p.ses.set
	rep := h.Report()
	end, _ := h.Ended()
	ending := record.Ending{Complete: end.Cause == "", Cause: end.Cause}
	run, _, err := p.compose(rep, ending)
	where := ""
	if err != nil {
		p.problem = "no record: " + err.Error()
	} else {
		where, p.problem = p.keep(run)
	}
	rep = p.kept.hinted(rep)
	exit := rep.Exit()
	switch {
	case p.problem != "":
	case k.lost != nil:
		p.problem = "the journal could not be written to its end: " + k.lost.Error()
	case rep.Interrupted && errors.Is(context.Cause(p.ctx.Context), errDeadline):
		p.problem = fmt.Sprintf("the deadline of %v has passed before the soak came to its end", set.deadline)
	}
	if p.problem != "" {
		exit = stages.ExitFailed
		p.problem = p.ses.redactor.Text(p.problem)
		fmt.Fprintf(k.c.err, "infbench: %s\n", p.problem)
	}
	subject, summary := p.ses.subject(""), h.Summary(k.journal.Path())
	if set.report != "" {
		err := whole.Write(set.report, func(w io.Writer) error {
			return render.SoakJSON(w, exit, p.problem, subject, rep, about, where, summary, p.ses.host(p.ctx.Context))
		})
		if err != nil {
			fmt.Fprintf(k.c.err, "infbench: the report could not be written: %v\n", err)
			exit = stages.ExitFailed
		}
	}
	switch {
	case set.line:
		render.Line(k.c.out, "soak", subject, rep, exit, p.problem)
	case set.json:
		if err := render.SoakJSON(k.c.out, exit, p.problem, subject, rep, about, where, summary, p.ses.host(p.ctx.Context)); err != nil {
			return reportError{exit, err}
		}
	default:
		style := render.Style{Colour: coloured(p.ctx, k.c.out), Quiet: set.quiet, All: p.ctx.Bool("all")}
		head(k.c.out, "soak", subject)
		if style.All {
			render.Host(k.c.out, p.ses.host(p.ctx.Context))
		}
		render.Verdicts(k.c.out, style, rep, about)
		render.Soak(k.c.out, style, h)
		render.Exit(k.c.out, style, exit, where)
		fmt.Fprintf(k.c.out, "journal %s\n", k.journal.Path())
	}
	return exitOf(exit)
}

// reopen opens the target anew: another process may answer by now.
func (s *session) reopen(ctx context.Context, wait time.Duration) (soak.Opened, error) {
	s.close()
	s.ep, s.err, s.once = endpoint.Endpoint{}, nil, sync.Once{}
	if wait > 0 {
		s.set.waitReady = wait
	}
	ep, err := s.open(ctx)
	return soak.Opened{Endpoint: ep, Subject: s.subject("")}, err
}
