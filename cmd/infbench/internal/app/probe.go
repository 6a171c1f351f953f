package app

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/render"
	"infbench/stages"
	"infbench/stages/endpoint"
)

func probeCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "probe",
		Usage: "what a server can do, found out by doing it",
		Description: `Executes each ability once and says whether it was verified here, taken without a sign, or unavailable, in the server's own words. Nothing
is inferred from a version.

Examples:
   infbench probe --target http://127.0.0.1:8000
   infbench probe --target http://127.0.0.1:8000 --json`,
		Flags: join(commonFlags(), targetFlags()),
		Action: func(ctx *cli.Context) error {
			s, err := settingsOf(ctx)
			if err != nil {
				return err
			}
			if s.Target == "" {
				return usagef("no target; give --target URL, such as --target http://127.0.0.1:8000")
			}
			ses, err := newSession(s)
			if err != nil {
				return err
			}
			defer ses.close()
			ep, err := ses.open(ctx.Context)
			if ctx.Context.Err() != nil {
				return stoppedWhile(ctx.Context, "the server was asked what it is; nothing was found out yet")
			}
			if err != nil {
				fmt.Fprintf(c.err, "infbench: %s\n", ses.redactor.Text(err.Error()))
				if s.json {
					_ = render.JSONError(c.out, "probe", stages.ExitFailed, ses.redactor.Text(err.Error()))
				}
				return exitError{stages.ExitFailed}
			}
			list := ep.Probe(ctx.Context)
			for i := range list {
				list[i].Detail = ses.redactor.Text(list[i].Detail)
			}
			if s.json {
				err = indented(c.out, probeWire{"infbench.probe/v1", ep.Engine().Name(), ep.Model(), list})
			} else {
				t := tabwriter.NewWriter(c.out, 2, 8, 2, ' ', 0)
				for _, a := range list {
					fmt.Fprintf(t, "%s\t%s\t%s\n", a.Name, a.State, a.Detail)
				}
				err = t.Flush()
			}
			switch {
			case err != nil:
				return err
			case ctx.Context.Err() != nil:
				return stoppedWhile(ctx.Context, "abilities were tried; what is shown was found out before")
			}
			return nil
		},
	}
}

type probeWire struct {
	Schema    string             `json:"schema"`
	Engine    string             `json:"engine"`
	Model     string             `json:"model"`
	Abilities []endpoint.Ability `json:"abilities"`
}
