package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"infbench/arrival"
	"infbench/baseline"
	"infbench/gates"
	"infbench/stages"
	"infbench/stages/performance"
	"infbench/stages/smoke"
)

func baselineCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "baseline",
		Usage: "a frozen workload, before and after a change: for compare",
		Description: `Takes an endpoint through stages 0 to 3, then sends a frozen workload one request at a time: prompts of exact lengths, each cold and then
warm, in five interleaved repeats. What it leaves is a record that infbench compare holds against another one.

The suite is the standard one (256, 2k, 8k, 16k and 32k tokens) where the context holds it, else the same scaled down, which is a suite of its own; [baseline] in
the configuration file defines another. With --ab both targets are measured in alternation, repeat by repeat, and compared at the end: a machine that drifts
then drifts for both.

Examples:
   infbench baseline --target http://127.0.0.1:8000 --device auto --out before.jsonl
   infbench baseline --target http://127.0.0.1:8000 --device auto --out after.jsonl && infbench compare before.jsonl after.jsonl
   infbench baseline --target http://127.0.0.1:8000 --repeats 10 --salt again    more repeats, on a server that has seen the prompts
   infbench baseline --device auto --ab http://127.0.0.1:8000 http://127.0.0.1:8001`,
		Flags: join(commonFlags(), targetFlags(), hardwareFlags(), correctnessFlags(), checkpointFlags(), evidenceFlags(), []cli.Flag{
			&cli.StringFlag{Name: "suite", DefaultText: "that of the configuration file, else the standard one that fits", Usage: "`NAME` of a suite: standard, or standard/2, /4 … for short contexts"},
			&cli.IntFlag{Name: "repeats", DefaultText: "5", Usage: "how often each depth is measured; both sides of a comparison want the same"},
			&cli.StringFlag{Name: "salt", Usage: "`TEXT` that goes into the nonces, for a server whose cache has seen the suite"},
			&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json `FILE` to count answers with where the server counts no tokens"},
			&cli.BoolFlag{Name: "ab", Usage: "two targets as arguments, measured in alternation and compared"},
			&cli.StringSliceFlag{Name: "same", Usage: "with --ab: `PART` that is not known and is the same on both sides"},
			&cli.BoolFlag{Name: "markdown", Usage: "with --ab: the comparison as Markdown"},
		}),
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error {
			s, err := settingsOf(ctx)
			if err != nil {
				return err
			}
			if ctx.Bool("ab") {
				if ctx.NArg() != 2 || s.Target != "" {
					return usagef("--ab takes two targets as arguments, and no --target")
				}
				s.Targets = ctx.Args().Slice()
				s.Target = s.Targets[0]
				return several(c, ctx, "baseline", s, true, frozenStages...)
			}
			if ctx.NArg() > 0 {
				return usagef("baseline takes no argument without --ab; give --target URL")
			}
			if s.Target == "" {
				return usagef("no target; give --target URL, such as --target http://127.0.0.1:8000")
			}
			return pipeWith(c, ctx, "baseline", s, true, frozenStages...)
		},
	}
}

var frozenStages = []gates.Stage{gates.Static, gates.Hardware, gates.Smoke, gates.Correctness, gates.Performance}

// frozenSettings are those of a baseline.
type frozenSettings struct {
	suite   baseline.Suite // zero: the standard one that fits
	name    string
	repeats int
	salt    string
}

// loadFrozen settles the suite of a baseline.
func (s *settings) loadFrozen(ctx *cli.Context) error {
	one, err := arrival.Sessions(1, 0, arrival.DefaultSeed)
	if err != nil {
		return err
	}
	s.arrivals = []arrival.ArrivalModel{one}
	f := &s.frozen
	f.suite, f.name, f.repeats, f.salt = s.Baseline.Suite, ctx.String("suite"), ctx.Int("repeats"), ctx.String("salt")
	if len(f.salt) > 100 {
		return usagef("a salt of %d bytes: want 100 at most", len(f.salt))
	}
	if ctx.IsSet("repeats") && f.repeats < 2 {
		return usagef("--repeats %d: want 2 or more, and 4 for a comparison", f.repeats)
	}
	if f.name != "" {
		suite, err := baseline.Named(f.name)
		if err != nil {
			return usageError{err.Error()}
		}
		f.suite = suite
	}
	if f.repeats > 0 {
		if _, err := baseline.Standard().Repeated(f.repeats); err != nil {
			return usagef("--repeats: %v", err)
		}
	}
	if !ctx.Bool("ab") && (ctx.IsSet("same") || ctx.Bool("markdown")) {
		return usagef("--same and --markdown are about a comparison: they go with --ab, or with infbench compare")
	}
	return comparable(ctx)
}

// comparable checks what the flags say of a comparison.
func comparable(ctx *cli.Context) error {
	for _, s := range ctx.StringSlice("same") {
		if !slices.Contains(baseline.Statable(), s) {
			return usagef("--same %q: what may be stated is %s", gates.Printable(s, 40), strings.Join(baseline.Statable(), ", "))
		}
	}
	if ctx.Bool("json") && ctx.Bool("markdown") {
		return usagef("--json and --markdown both want stdout")
	}
	return nil
}

// fitting returns the suite for a context, 0 where it is not known.
func (f frozenSettings) fitting(contextTokens int) (baseline.Suite, error) {
	suite := f.suite
	var err error
	if suite.IsZero() {
		if contextTokens == 0 {
			return suite, usagef("the server does not say how long its context is; give --context TOKENS, or --suite NAME")
		}
		if suite, err = baseline.Scaled(contextTokens); err != nil {
			return suite, err
		}
	}
	if contextTokens > 0 && !suite.Fits(contextTokens) {
		d := suite.Depths()[len(suite.Depths())-1]
		return suite, usagef("the suite %s wants %d prompt and %d output tokens, and the context is %d tokens long; --suite NAME takes a shorter one", suite.Name(), d.PromptTokens, d.MaxTokens, contextTokens)
	}
	if f.repeats > 0 {
		return suite.Repeated(f.repeats)
	}
	return suite, nil
}

// suits refuses a suite that the target's context does not hold, or a context that nobody knows,
// before a gate is asked.
func (p *pipeline) suits(ctx context.Context) error {
	if p.command != "baseline" {
		return nil
	}
	ep, err := p.ses.open(ctx)
	if err != nil {
		return nil //nolint:nilerr // the gates tell of a server that cannot be opened
	}
	_, err = p.ses.set.frozen.fitting(ep.ContextTokens(0))
	return err
}

// measureFrozen proves that the record can be written, then measures a suite.
func (p *pipeline) measureFrozen(ctx context.Context, proof gates.GateSet, emit func(stages.Event)) (*performance.Sweep, error) {
	ep, err := p.ses.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.openStore(); err != nil {
		return nil, err
	}
	suite, err := p.ses.set.frozen.fitting(ep.ContextTokens(0))
	if err != nil {
		return nil, err
	}
	c, err := p.measuring(ctx)
	if err != nil {
		return nil, err
	}
	c.Again = func(ctx context.Context) []gates.Verdict {
		var out []gates.Verdict
		for _, check := range smoke.Checks() {
			out = append(out, gates.Run(ctx, check, ep))
		}
		return out
	}
	p.sweep, err = performance.MeasureFrozen(ctx, ep, proof, suite, p.ses.set.frozen.salt, c, p.progressed(emit))
	return p.sweep, err
}

// compared compares the two targets of a baseline that was made of both in alternation.
func compared(c console, ctx *cli.Context, runs []*pipeline, exit int) error {
	if len(runs) != 2 || runs[0].recorded.IsZero() || runs[1].recorded.IsZero() {
		return exitOf(exit)
	}
	var sides []baseline.Side
	for i, p := range runs {
		sides = append(sides, baseline.NewSide(fmt.Sprintf("target %d, run %s", i+1, p.recorded.Parts().ID), p.recorded))
	}
	cmp := baseline.Compare(sides[0], sides[1], ctx.StringSlice("same")...)
	if err := showComparison(c, ctx, sides[0], sides[1], cmp); err != nil && !errors.As(err, new(exitError)) {
		return err
	}
	if exit >= stages.ExitFailed { // the runs' own end is worse than what came of comparing them
		return exitOf(exit)
	}
	return exitOf(cmp.Exit())
}
