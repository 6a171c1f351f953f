// Command infbench examines an LLM endpoint and its checkpoint, cheapest question
// first, and measures it only when its answers are right.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"infbench/cmd/infbench/internal/app"
	"infbench/gates"
)

// exitBug is the code of a defect in infbench itself; Go's own code for a panic
// would read as a hard failure of the endpoint.
const exitBug = 70

func main() { os.Exit(run()) }

func run() (exit int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "infbench: a defect in infbench: %v\n", p)
			if os.Getenv("INFBENCH_TRACE") != "" {
				_, _ = os.Stderr.Write(debug.Stack())
			}
			exit = exitBug
		}
	}()
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		signal.Stop(signals) // a second one kills at once
		stop(gates.ErrStopped)
	}()
	return app.Run(ctx, os.Args, os.Stdout, os.Stderr)
}
