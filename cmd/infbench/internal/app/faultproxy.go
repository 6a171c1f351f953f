package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/internal/faultproxy"
)

func faultproxyCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "faultproxy",
		Usage: "put named faults before any endpoint, to see what notices them",
		Description: `Serves the endpoint behind --upstream on the loopback, with one fault or several. Without a fault bytes pass as they are.

Examples:
   infbench faultproxy --upstream http://127.0.0.1:8000 --fault one-token
   infbench faultproxy --upstream http://127.0.0.1:8000 --fault crosstalk:above=4 --fault drip:delay=50ms
   infbench faultproxy --list`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "upstream", Usage: "`URL` of the endpoint"},
			&cli.StringSliceFlag{Name: "fault", Usage: "`NAME[:param=value,…]`; may be repeated"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "`ADDRESS` to listen on; port 0 takes a free one"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "of what the faults draw"},
			&cli.BoolFlag{Name: "list", Usage: "the faults and their parameters"},
		},
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("list") {
				return faultList(c.out)
			}
			if ctx.String("upstream") == "" {
				return usagef("no upstream; give --upstream URL, or --list")
			}
			u, err := url.Parse(ctx.String("upstream"))
			if err != nil {
				return usagef("--upstream is no URL")
			}
			p, err := faultproxy.ForURL(u, specsOf(ctx.StringSlice("fault")), ctx.Uint64("seed"))
			if err != nil {
				return usageError{err.Error()}
			}
			defer p.Close()
			var lc net.ListenConfig
			l, err := lc.Listen(ctx.Context, "tcp", ctx.String("listen"))
			if err != nil {
				return usagef("--listen %.80q: it cannot be listened on", ctx.String("listen"))
			}
			fmt.Fprintf(c.out, "http://%s\n", l.Addr())
			fmt.Fprintln(c.err, "the endpoint with its faults is there; interrupt to stop")
			s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
			go func() {
				<-ctx.Context.Done()
				_ = s.Close()
			}()
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return usagef("faultproxy: %v", err)
			}
			return nil
		},
	}
}

// specsOf joins what the flag library split at commas: a fault's own parameters are
// separated by them.
func specsOf(values []string) []string {
	var out []string
	for _, p := range separated(values) {
		if name, _, _ := strings.Cut(p, ":"); len(out) > 0 && strings.Contains(name, "=") {
			out[len(out)-1] += "," + p
			continue
		}
		out = append(out, p)
	}
	return out
}
