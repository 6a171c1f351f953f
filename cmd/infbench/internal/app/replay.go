package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/internal/replay"
	"infbench/stages"
)

func replayCommand(c console) *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "show the evidence of a failed check, or ask it again",
		ArgsUsage: "BUNDLE",
		Description: `A check that fails leaves what it asked and what came in a bundle below bench/evidence. Without a target the bundle is shown. With one the
same requests are sent again, in the order and with the overlap in which they were sent, and each answer is compared.

Examples:
   infbench replay bench/evidence/smoke.known-answer-….json.gz
   infbench replay BUNDLE --only 3                                        request 3 in full; --markdown for a report
   infbench replay BUNDLE --target http://127.0.0.1:8000                  is it still so, and on another server?
   infbench replay BUNDLE --target http://127.0.0.1:8000 --one-by-one     is it the company?

Exit codes: 0 all as recorded · 1 some differ · 2 the target cannot be reached, or every request failed · 64 the bundle cannot be read ·
130 interrupted`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "target", Usage: "`URL` of the endpoint to ask"},
			&cli.StringFlag{Name: "model", Usage: "`NAME` of the served model (default: the first one listed)"},
			&cli.StringSliceFlag{Name: "only", Usage: "`N`, the number of a request to send or show; may be repeated"},
			&cli.BoolFlag{Name: "one-by-one", Usage: "send each request alone"},
			&cli.StringFlag{Name: "api-key-env", Value: "OPENAI_API_KEY", Usage: "environment variable `NAME` that holds the API key"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "2m", Usage: "longest wait for a connection, a first token, or the next one"},
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "TOML `FILE` whose headers, key and timeout are used"},
			&cli.BoolFlag{Name: "markdown", Usage: "the bundle as a page of Markdown"},
			jsonFlag(),
			&cli.BoolFlag{Name: "no-color", Usage: "no colour (NO_COLOR does the same)"},
		},
		Before: onlyFiles,
		Action: func(ctx *cli.Context) error { return runReplay(c, ctx) },
	}
}

func runReplay(c console, ctx *cli.Context) error {
	if ctx.NArg() != 1 {
		return usagef("replay takes one bundle, such as bench/evidence/smoke.known-answer-….json.gz; a failed check names its own under \"next\"")
	}
	b, err := evidence.Open(ctx.Args().First())
	if err != nil {
		return usageError{err.Error()}
	}
	only, err := numbers(separated(ctx.StringSlice("only")), len(b.Exchanges()))
	if err != nil {
		return err
	}
	if ctx.Bool("json") && ctx.Bool("markdown") {
		return usagef("--json and --markdown both want stdout: one of them")
	}
	if !ctx.IsSet("target") {
		for _, name := range []string{"model", "one-by-one"} {
			if ctx.IsSet(name) {
				return usagef("--%s goes with --target URL; without one the bundle is shown", name)
			}
		}
		return showBundle(c, ctx, b, only)
	}
	if ctx.Bool("markdown") {
		return usagef("--markdown shows a bundle; with --target there is --json")
	}
	return askAgain(c, ctx, b, only)
}

// numbers reads the numbers of requests of a bundle that has so many.
func numbers(texts []string, of int) (out []int, err error) {
	for _, text := range texts {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, usagef("--only %s: want the number of a request, 1 to %d", gates.Quote(text, 40), of)
		}
		if n < 1 || n > of {
			return nil, usagef("--only %d: the bundle has the requests 1 to %d", n, of)
		}
		out = append(out, n)
	}
	return out, nil
}

func showBundle(c console, ctx *cli.Context, b evidence.Bundle, only []int) error {
	switch {
	case ctx.Bool("json"):
		doc, err := b.JSON()
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := json.Indent(&out, doc, "", "  "); err != nil {
			return err
		}
		_, err = c.out.Write(render.VisibleJSON(out.Bytes()))
		return err
	case ctx.Bool("markdown"):
		return render.EvidencePage(c.out, b, only, describeBody)
	}
	render.Evidence(c.out, render.Style{Colour: coloured(ctx, c.out)}, b, only, describeBody)
	return nil
}

// describeBody is [describeRequest] for a body out of a file.
func describeBody(body string) string {
	if !json.Valid([]byte(body)) {
		return "no JSON: " + gates.Quote(body, 90)
	}
	return describeRequest([]byte(body))
}

func askAgain(c console, ctx *cli.Context, b evidence.Bundle, only []int) error {
	s, err := settingsOf(ctx)
	if err != nil {
		return err
	}
	if s.Target == "" {
		return usagef("--target is empty; give the URL of the endpoint to ask")
	}
	s.Model = ctx.String("model") // the configuration names the model of another job
	ses, err := newSession(s)
	if err != nil {
		return err
	}
	defer ses.close()
	ses.inFlight = atOnce(b.Exchanges())
	ep, err := ses.open(ctx.Context)
	if ctx.Context.Err() != nil {
		return stoppedWhile(ctx.Context, "the server was asked what it is; nothing was sent again")
	}
	if err != nil {
		text := gates.Printable(ses.redactor.Text(err.Error()), 0)
		fmt.Fprintf(c.err, "infbench: %s\n", text)
		if s.json {
			_ = render.JSONError(c.out, "replay", stages.ExitFailed, text)
		}
		return exitError{stages.ExitFailed}
	}
	results := replay.Run(ctx.Context, b, replay.Options{
		Model: ep.Model(), Only: only, Alone: ctx.Bool("one-by-one"), Redact: ses.redactor.Text, Send: ep.Exchange,
		Tell: func(text string) { fmt.Fprintf(c.err, "%s\n", text) },
	})
	exit := replayExit(ctx.Context, replay.TallyOf(results))
	to := render.ReplayTarget{Name: ses.redactor.Text(modelName(ep.Model())), Engine: ep.Engine().Name(), Address: ses.target.String(), Alone: ctx.Bool("one-by-one")}
	if s.json {
		err = render.ReplayJSON(c.out, b, to, results, exit)
	} else {
		render.Replay(c.out, render.Style{Colour: coloured(ctx, c.out)}, b, to, results, exit, describeBody)
	}
	if err != nil {
		return reportError{exit, err}
	}
	return exitOf(exit)
}

// replayExit returns the exit code of a bundle that was asked again.
func replayExit(ctx context.Context, t replay.Tally) int {
	switch sent := t.Of() - t.NotSent; {
	case ctx.Err() != nil:
		return stages.ExitInterrupted
	case t.Failed == sent: // none sent at all, too
		return stages.ExitFailed
	case t.AsRecorded == t.Of():
		return stages.ExitHealthy
	}
	return stages.ExitWarnings
}

// atOnce returns the most exchanges that were in flight at one instant.
func atOnce(list []evidence.Exchange) (most int) {
	for i, x := range list {
		n := 1
		for _, y := range list[:i] { // which began no later
			if y.Ended() > x.Began {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// argumentsLast moves what is no flag behind the flags: the library stops reading flags at
// the first argument, and a file that is named first is how people say it.
func argumentsLast(cmd *cli.Command, args []string) []string {
	takes := map[string]bool{}
	for _, f := range cmd.Flags {
		if d, ok := f.(cli.DocGenerationFlag); ok {
			for _, name := range f.Names() {
				takes[name] = d.TakesValue()
			}
		}
	}
	var flags, rest []string
	for i := 0; i < len(args); i++ {
		name := strings.TrimLeft(args[i], "-")
		switch {
		case args[i] == "--":
			return slices.Concat(flags, args[i:i+1], rest, args[i+1:])
		case name == args[i] || name == "":
			rest = append(rest, args[i])
		default:
			flags = append(flags, args[i])
			if takes[name] && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return append(flags, rest...)
}
