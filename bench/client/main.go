// Command client drives infbench's measuring client, everything on (stamps, checks of
// the text, counting), against a streaming endpoint, and prints what that cost.
//
// It stands outside of the product's command line because it prints timings that no
// gate has vouched for: they are about this program, not about a server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8199", "endpoint")
	streams := flag.Int("streams", 64, "streams at once")
	requests := flag.Int("requests", 128, "requests in all")
	tokens := flag.Int("tokens", 100, "tokens asked of each")
	flag.Parse()
	if err := run(*url, *streams, *requests, *tokens); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(url string, streams, requests, tokens int) error {
	target, err := endpoint.ParseTarget(url, endpoint.TargetOptions{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	ep, err := endpoint.Open(ctx, target, endpoint.Options{InFlight: streams})
	if err != nil {
		return err
	}
	defer ep.Close()
	prompt, err := ep.Prepare(endpoint.Chat("go on").MaxTokens(tokens), true)
	if err != nil {
		return err
	}
	before, start := cpu(), time.Now()
	var (
		mu       sync.Mutex
		wg       sync.WaitGroup
		counted  int
		failures int
	)
	next := make(chan struct{})
	for range streams {
		wg.Go(func() {
			for range next {
				a := ep.Send(ctx, prompt)
				bad := a.Failure != nil || len(gates.Degenerate(a.Content, gates.TextContext{CutShort: true})) > 0
				mu.Lock()
				counted += a.Usage.Completion.Or(len(a.Timing.Marks))
				if bad {
					failures++
				}
				mu.Unlock()
			}
		})
	}
	for range requests {
		next <- struct{}{}
	}
	close(next)
	wg.Wait()
	used := cpu() - before
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"program": "infbench client", "streams": streams, "requests": requests, "tokens": counted, "failed": failures,
		"cpu_s": used.Seconds(), "wall_s": time.Since(start).Seconds(), "cpu_s_per_100k_tokens": used.Seconds() / float64(max(1, counted)) * 1e5,
	})
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
