package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/gates"
	"infbench/internal/selftest"
	"infbench/stages"
	"infbench/stages/endpoint"
)

func selftestCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "selftest",
		Usage: "prove the checks: every fault has a catcher, a healthy engine trips none",
		Description: `Runs stages 1 to 3 over an engine behind the fault proxy, once without any fault and once with each, and prints the table of
faults against the checks that caught them. The embedded engine takes all faults; on a real one (--target) name those that apply, or
all are tried. What a check warns of on the real engine as it is counts for no catch. Exit code 2 where a fault escapes or a healthy engine trips a check.

Examples:
   infbench selftest
   infbench selftest --healthy 20 --fault one-token --fault tool-args-cut
   infbench selftest --target http://127.0.0.1:8000 --fault wrong-digit --json > table.json
   infbench selftest --target http://127.0.0.1:8000 --named --fault partial-hit-wrong --fault far-in-company`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "target", Usage: "`URL` of a real engine (default: the embedded one)"},
			&cli.StringFlag{Name: "model", Usage: "`NAME` of the served model"},
			&cli.StringFlag{Name: "api-key-env", Value: "OPENAI_API_KEY", Usage: "environment variable `NAME` that holds the API key"},
			&cli.StringSliceFlag{Name: "fault", DefaultText: "all", Usage: "`NAME[:param=value,…]` of a fault to inject; may be repeated"},
			&cli.BoolFlag{Name: "named", Usage: "of each row run the checks alone that name its --fault: minutes less on a real engine"},
			&cli.IntFlag{Name: "healthy", Value: 1, Usage: "how often the engine is tested without a fault"},
			&cli.IntFlag{Name: "at-once", Value: 8, Usage: "how many embedded engines run at the same time"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "of the faults and the codes"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "8s, with --target 2m", Usage: "longest wait for a connection, a first token, or the next one"},
			&cli.BoolFlag{Name: "markdown", Usage: "the table as a page"},
			jsonFlag(),
		}, &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress"}),
		Action: func(ctx *cli.Context) error {
			o := selftest.Options{
				Only: specsOf(ctx.StringSlice("fault")), Healthy: ctx.Int("healthy"), AtOnce: ctx.Int("at-once"), Seed: ctx.Uint64("seed"), Model: ctx.String("model"), Named: ctx.Bool("named"),
				Limits: endpoint.DefaultLimits(),
			}
			if o.Named && len(o.Only) == 0 {
				return usagef("--named wants --fault NAME: it runs the checks that name it")
			}
			if ctx.IsSet("timeout") && ctx.Duration("timeout") <= 0 || o.Healthy < 1 || o.AtOnce < 1 {
				return usagef("--timeout, --healthy and --at-once want more than 0")
			}
			if t := ctx.String("target"); t == "" {
				o.Limits = o.Limits.Within(8 * time.Second)
				o.Limits.Settle = min(o.Limits.Settle, time.Second)
			} else {
				u, err := url.Parse(t)
				if err != nil {
					return usagef("--target is no URL")
				}
				o.Target, o.TargetOptions.Key = u, os.Getenv(ctx.String("api-key-env"))
			}
			if ctx.IsSet("timeout") {
				o.Limits = o.Limits.Within(ctx.Duration("timeout"))
			}
			rows, err := selftest.Rows(o)
			if err != nil {
				return usageError{err.Error()}
			}
			n := 0
			o.Done = func(r selftest.Row) {
				n++
				if !ctx.Bool("quiet") {
					fmt.Fprintf(c.err, "%d of %d: %s in %v\n", n, len(rows), rowLine(r), r.Took.Round(100*time.Millisecond))
				}
			}
			t, err := selftest.Run(ctx.Context, o)
			switch {
			case ctx.Context.Err() != nil:
				return showStopped(ctx, c, t, len(rows))
			case err != nil:
				return usageError{err.Error()}
			}
			if err := showSelftest(ctx, c.out, t); err != nil {
				return err
			}
			if len(t.Problems()) > 0 {
				return exitError{stages.ExitFailed}
			}
			return nil
		},
	}
}

func rowLine(r selftest.Row) string {
	switch caught := r.Caught(); {
	case r.Problem() != "":
		return "DEFECT " + r.Problem()
	case r.Fault == "" && len(caught) > 0:
		return "healthy (" + r.Engine + "), warned of " + strings.Join(caught, ", ") + ": faults are judged by what comes on top"
	case r.Fault == "":
		return "healthy (" + r.Engine + "), silent"
	case len(caught) == 0:
		return r.Fault + " is harmless, silent"
	default:
		return r.Fault + " caught by " + strings.Join(caught, ", ")
	}
}

// showStopped shows the rows that were done when a self-test was stopped.
func showStopped(ctx *cli.Context, c console, t selftest.Table, of int) error {
	err := stoppedWhile(ctx.Context, fmt.Sprintf("faults were tried: %d of %d rows were done; --fault NAME repeats single ones", len(t.Rows), of))
	var stopped stoppedError
	if len(t.Rows) == 0 || ctx.Bool("markdown") || !errors.As(err, &stopped) {
		return err
	}
	fmt.Fprintf(c.err, "infbench: %s\n", err)
	if ctx.Bool("json") {
		out := selftestJSON(t)
		out.Stopped = err.Error()
		if err := indented(c.out, out); err != nil {
			return err
		}
		return exitError{stopped.code}
	}
	for _, r := range t.Rows {
		fmt.Fprintln(c.out, rowLine(r))
	}
	return exitError{stopped.code}
}

func showSelftest(ctx *cli.Context, w io.Writer, t selftest.Table) error {
	switch {
	case ctx.Bool("json"):
		return indented(w, selftestJSON(t))
	case ctx.Bool("markdown"):
		return selftestPage(w, t)
	}
	for _, r := range t.Rows {
		fmt.Fprintln(w, rowLine(r))
	}
	fmt.Fprintf(w, "\nwhat would escape without a check:\n")
	sole := t.Sole()
	for _, id := range slices.Sorted(maps.Keys(sole)) {
		fmt.Fprintf(w, "  %-32s %s\n", id, strings.Join(sole[id], ", "))
	}
	if p := t.Problems(); len(p) > 0 {
		fmt.Fprintf(w, "\n%d defects\n", len(p))
		for _, line := range p {
			fmt.Fprintf(w, "  %s\n", line)
		}
		return nil
	}
	silent := "every healthy row is silent"
	if slices.ContainsFunc(t.Rows, func(r selftest.Row) bool { return r.Fault == "" && len(r.Caught()) > 0 }) {
		silent = "beyond what the engine without a fault is warned of"
	}
	fmt.Fprintf(w, "\nevery fault is caught, %s\n", silent)
	return nil
}

type selftestWire struct {
	Schema   string            `json:"schema"`
	Rows     []selftestRowWire `json:"rows"`
	Problems []string          `json:"problems"`
	// Stopped says why there are no more rows.
	Stopped string `json:"stopped,omitempty"`
}

type selftestRowWire struct {
	Fault  string   `json:"fault,omitempty"`
	Doc    string   `json:"doc,omitempty"`
	Modes  []string `json:"modes,omitempty"`
	Stage  int      `json:"stage,omitempty"`
	Engine string   `json:"engine"`
	// Condition is what the checks of stage 3 say that the fault takes, "" where they do not.
	Condition gates.Condition `json:"condition,omitzero"`
	Caught    []string        `json:"caught"`
	Unopened  string          `json:"unopened,omitempty"`
	Problem   string          `json:"problem,omitempty"`
	TookMS    int64           `json:"took_ms"`
	Verdicts  []gates.Verdict `json:"verdicts"`
}

func selftestJSON(t selftest.Table) selftestWire {
	out := selftestWire{Schema: "infbench.selftest/v1", Rows: []selftestRowWire{}, Problems: append([]string{}, t.Problems()...)}
	for _, r := range t.Rows {
		out.Rows = append(out.Rows, selftestRowWire{
			Fault: r.Fault, Doc: r.Info.Doc, Modes: r.Info.Modes, Stage: r.Info.Stage, Engine: r.Engine, Condition: r.Condition(), Caught: append([]string{}, r.Caught()...),
			Unopened: r.Unopened, Problem: r.Problem(), TookMS: r.Took.Milliseconds(), Verdicts: append([]gates.Verdict{}, r.Verdicts...),
		})
	}
	return out
}

// selftestPage writes the table as Markdown.
func selftestPage(w io.Writer, t selftest.Table) error {
	fmt.Fprintf(w, `# Faults and who catches them

Printed by `+"`infbench selftest --markdown`"+` on the embedded engine: stages 1 to 3 were run over each fault, up to the stage that must catch it. A check in
bold failed, the others warned. *Wrong* is what stage 3 says that the fault takes to show. %d faults, %d healthy rows.

| fault | what a client sees | failure modes | wrong | caught by |
|---|---|---|---|---|
`, faultRows(t), len(t.Rows)-faultRows(t))
	for _, r := range t.Rows {
		if r.Fault == "" {
			continue
		}
		var who []string
		if r.Unopened != "" {
			who = append(who, "**opening the endpoint**")
		}
		for _, id := range r.Caught() {
			for _, v := range r.Verdicts {
				if v.Check() == id && v.Status() == gates.Failed {
					id = "**`" + id + "`**"
				}
			}
			if strings.Contains(id, "/") {
				who = append(who, cmp.Or(id))
			}
		}
		by := strings.Join(who, ", ")
		if by == "" {
			by = "harmless: nobody may object"
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s |\n", r.Fault, r.Info.Doc, strings.Join(r.Info.Modes, " "), r.Condition().Words(), by)
	}
	fmt.Fprintf(w, "\n## What would escape without a check\n\n| check | faults that it alone catches |\n|---|---|\n")
	sole := t.Sole()
	for _, id := range selftest.Checks() {
		if len(sole[id]) > 0 {
			fmt.Fprintf(w, "| `%s` | %s |\n", id, strings.Join(sole[id], ", "))
		}
	}
	return nil
}

func faultRows(t selftest.Table) (n int) {
	for _, r := range t.Rows {
		if r.Fault != "" {
			n++
		}
	}
	return n
}
