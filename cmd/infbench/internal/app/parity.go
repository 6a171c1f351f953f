package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/internal/whole"
	"infbench/stages"
	"infbench/stages/correctness/parity"
	"infbench/stages/endpoint"
)

func parityCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "parity",
		Usage: "compare a server with a reference of the same weights",
		Description: `Asks both the same prompts at temperature 0 and compares likeliest tokens, log probabilities and tool calls, up to the first token
in which they part. A configuration that is not the precision it is declared to be is named, fast or not. docs/PARITY.md says what the
numbers mean.

A side may be a file that --save wrote: for two servers that do not fit on one machine at a time.

Examples:
   infbench parity --target http://127.0.0.1:8000 --reference http://127.0.0.1:8001 --precision bf16
   infbench parity --target http://127.0.0.1:8001 --save reference.json.gz
   infbench parity --target http://127.0.0.1:8000 --reference reference.json.gz --precision fp8

Exit codes: 0 within what the precision allows · 1 not wholly comparable, or beyond by no more than chance · 2 beyond it, or a server could
not be reached · 64 usage`,
		Flags: join([]cli.Flag{&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "TOML `FILE` with target, reference and precision; flags win"}},
			outputFlags(), targetFlags(), referenceFlags(), []cli.Flag{
				&cli.BoolFlag{Name: "quick", Usage: "a quarter of the prompts, and no tool calls"},
				&cli.Float64Flag{Name: "limit", DefaultText: "by precision", Usage: "largest mean divergence in `NATS` in the place of the table's: such as twice that of a serving you trust"},
				&cli.StringFlag{Name: "save", Usage: "`FILE` that the target's answers are written to, compressed if it ends in .gz"},
			}),
		Action: func(ctx *cli.Context) error { return compareServers(c, ctx) },
	}
}

// side is one of the two: a server, or what one answered before.
type side struct {
	name string
	file string
	once bool // its calls: it will be nobody's reference
	open func(context.Context) (endpoint.Endpoint, error)
}

func (s side) plan(p parity.Plan) parity.Plan {
	if s.once {
		p.Passes = min(1, p.Passes)
	}
	return p
}

func isAddress(s string) bool { return strings.Contains(s, "://") }

func compareServers(c console, ctx *cli.Context) error {
	s, err := settingsOf(ctx)
	if err != nil {
		return err
	}
	if ctx.IsSet("limit") {
		if s.claim.Divergence = ctx.Float64("limit"); !(s.claim.Divergence > 0) || math.IsInf(s.claim.Divergence, 0) {
			return usagef("--limit %g: want a number of nats above 0", s.claim.Divergence)
		}
	}
	save := ctx.String("save")
	switch {
	case s.Target == "":
		return usagef("no target; give --target URL, such as --target http://127.0.0.1:8000")
	case s.Reference.Target == "" && save == "":
		return usagef("no reference; give --reference URL or FILE, or --save FILE to keep the target's answers for one")
	}
	if save != "" {
		if err := whole.Prove(save); err != nil {
			return usagef("--save %v", err)
		}
	}
	target, reference := side{name: "target", once: save == ""}, side{name: "reference"}
	if !isAddress(s.Target) {
		target.file, s.Target = s.Target, ""
	}
	if r := s.Reference.Target; r != "" && !isAddress(r) {
		reference.file, s.Reference.Target = r, ""
	}
	ses, err := newSession(s)
	if err != nil {
		return err
	}
	defer ses.close()
	target.open, reference.open = ses.open, ses.openReference
	plan := parity.DefaultPlan()
	if ctx.Bool("quick") {
		plan = parity.QuickPlan()
	}
	if s.deadline > 0 {
		within, cancel := context.WithTimeoutCause(ctx.Context, s.deadline, errDeadline)
		defer cancel()
		ctx.Context = within
	}
	wanted := []side{target}
	if reference.file != "" || ses.hasReference() {
		wanted = append(wanted, reference)
	}
	got, err := answersOf(ctx.Context, c, ses, plan, wanted)
	switch {
	case ctx.Context.Err() != nil:
		return stoppedWhile(ctx.Context, "the servers were asked; nothing was compared")
	case err != nil:
		return unanswered(c, s, ses.redactor.Text(err.Error()), err)
	}
	for i := range got { // alike: texts that were and texts that were not would differ
		got[i] = got[i].Redacted(ses.redactor.Text)
	}
	if save != "" {
		if err := got[0].Write(save); err != nil {
			return reportError{stages.ExitFailed, err}
		}
	}
	if len(got) == 1 {
		fmt.Fprintf(c.out, "saved  the answers of %s to %d prompts in %s\n", got[0].Origin(), got[0].Prompts(), gates.Printable(save, 0))
		return nil
	}
	comparison, err := parity.Compare(got[0], got[1])
	if err != nil {
		return usageError{err.Error()}
	}
	return showParity(c, ctx, s, comparison, judged(ctx.Context, comparison, s.claim).Redacted(ses.redactor.Text))
}

const parityCheck = "correctness/parity"

// judged puts the comparison under the check's name, as stage 3 would.
func judged(ctx context.Context, c parity.Comparison, claim parity.Claim) gates.Verdict {
	info := about(parityCheck)
	return gates.Run(ctx, gates.Check[parity.Comparison]{
		ID: parityCheck, Causes: info.Causes, Next: info.Next,
		Run: func(_ context.Context, c parity.Comparison) (gates.Finding, error) { return c.Judge(claim), nil },
	}, c)
}

func showParity(c console, ctx *cli.Context, s settings, comparison parity.Comparison, v gates.Verdict) error {
	exit := stages.ExitWarnings
	switch v.Status() {
	case gates.Passed:
		exit = stages.ExitHealthy
	case gates.Failed:
		exit = stages.ExitFailed
	case gates.Warned, gates.Skipped, gates.NotApplicable:
	}
	if s.json {
		if err := render.ParityJSON(c.out, exit, s.claim.Precision, comparison, v); err != nil {
			return reportError{exit, err}
		}
		return exitOf(exit)
	}
	style := render.Style{Colour: coloured(ctx, c.out), Quiet: s.quiet}
	render.Parity(c.out, style, comparison, v, about)
	render.Exit(c.out, style, exit, "")
	return exitOf(exit)
}

// answersOf asks all sides at the same time: they are different servers. It returns what
// each answered, in order.
func answersOf(ctx context.Context, c console, ses *session, plan parity.Plan, sides []side) ([]parity.Recording, error) {
	out := make([]parity.Recording, len(sides))
	group, within := errgroup.WithContext(ctx)
	for i, s := range sides {
		group.Go(func() (err error) {
			if s.file != "" {
				if out[i], err = parity.ReadRecording(s.file); err != nil {
					return usageError{err.Error()}
				}
				return nil
			}
			start := time.Now()
			ep, err := s.open(within)
			if err == nil {
				out[i], err = parity.Record(within, ep, s.plan(plan))
			}
			if err != nil {
				return fmt.Errorf("the %s: %w", s.name, endpoint.FailureOf(err, "the "+s.name))
			}
			if !ses.set.quiet {
				fmt.Fprintf(c.err, "the %s answered %d prompts in %v\n", s.name, out[i].Prompts(), time.Since(start).Round(time.Second))
				if n := out[i].Long(); n > 0 {
					fmt.Fprintf(c.err, "the %s does not keep to max_tokens: of %d answers the beginning is kept\n", s.name, n)
				}
			}
			return nil
		})
	}
	return out, group.Wait()
}

// unanswered reports a server that could not be asked: a hard failure, and usage where a
// file was the matter.
func unanswered(c console, s settings, text string, err error) error {
	var usage usageError
	if errors.As(err, &usage) {
		return usage
	}
	fmt.Fprintf(c.err, "infbench: %s\n", text)
	if s.json {
		_ = render.JSONError(c.out, "parity", stages.ExitFailed, text)
	}
	return exitError{stages.ExitFailed}
}
