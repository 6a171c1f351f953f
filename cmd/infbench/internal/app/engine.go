package app

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"infbench/internal/refengine"
)

func engineCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "engine",
		Usage: "the embedded reference engine, to try infbench on",
		Description: `Serves an OpenAI-compatible API on the loopback until it is interrupted. A clock model stands where others have a device:
its timing is known, which makes it the ruler for the harness too.

Examples:
   infbench engine --listen 127.0.0.1:8000
   infbench engine --listen :8000 --truth truth.jsonl`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8000", Usage: "`ADDRESS` to listen on; port 0 takes a free one"},
			&cli.StringFlag{Name: "model", Usage: "`NAME` of the model served"},
			&cli.IntFlag{Name: "context", Usage: "context length in tokens (default 32768)"},
			&cli.IntFlag{Name: "max-running", Usage: "most requests in one batch (default 256)"},
			&cli.IntFlag{Name: "max-queue", Usage: "most requests waiting before 503 (default 1024)"},
			&cli.BoolFlag{Name: "no-prefix-cache", Usage: "compute every prompt in full"},
			&cli.BoolFlag{Name: "thinks", Usage: "think before answering, in the reasoning channel"},
			&cli.BoolFlag{Name: "request-metrics", Usage: "each answer tells its own times, as vLLM's do with --enable-per-request-metrics"},
			&cli.StringFlag{Name: "api-key-env", Usage: "environment variable `NAME` that holds the key to ask for"},
			&cli.StringFlag{Name: "truth", Usage: "`FILE` for one JSON line of true times per request"},
		},
		Action: func(ctx *cli.Context) error {
			config := refengine.Config{
				Model: ctx.String("model"), ContextLength: ctx.Int("context"), MaxRunning: ctx.Int("max-running"), MaxQueue: ctx.Int("max-queue"),
				NoPrefixCache: ctx.Bool("no-prefix-cache"), Thinks: ctx.Bool("thinks"), RequestMetrics: ctx.Bool("request-metrics"), Version: Version,
			}
			if name := ctx.String("api-key-env"); name != "" {
				if config.APIKey = os.Getenv(name); config.APIKey == "" {
					return usagef("the environment variable %.60q holds no key", name)
				}
			}
			if path := ctx.String("truth"); path != "" {
				f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
				if err != nil {
					return usagef("truth file: %v", err)
				}
				defer func() { _ = f.Close() }()
				config.Truth = f
			}
			return serveEngine(ctx.Context, c, ctx.String("listen"), config)
		},
	}
}

func serveEngine(ctx context.Context, c console, listen string, config refengine.Config) error {
	e, err := refengine.New(config)
	if err != nil {
		return usagef("engine: %v", err)
	}
	defer func() { _ = e.Close() }()
	s, err := refengine.Serve(ctx, listen, e)
	if err != nil {
		return usagef("engine: %v", err)
	}
	fmt.Fprintf(c.out, "%s\n", s.URL())
	fmt.Fprintln(c.err, "the embedded engine serves there; interrupt to stop")
	return s.Wait()
}
