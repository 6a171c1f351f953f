// Command client drives infbench's measuring client, everything on (stamps, checks of
// the text, counting, its own calibration), against a streaming endpoint, and writes what
// it saw and what that cost into OUT/summary.json, in the keys that other load generators are
// summarised in.
//
// It stands outside of the product's command line because it prints timings that no gate has
// vouched for: it is for endpoints of known behaviour, where it is the client that is
// measured. It exits with 2 when an answer was wrong, incomplete or broken, and with 1 when
// it did not keep up itself; in both cases it names no speed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"infbench/internal/whole"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// load is what is sent.
type load struct {
	url, model           string
	concurrency          int
	requests             int
	input, output        int
	ramp, within         time.Duration
	calibrate, anyLength bool
	tokenizer            string
	seed                 uint64
}

// The exit codes.
const (
	healthy = 0
	limited = 1
	harmful = 2
	usage   = 64
)

func command(args []string, out, errs io.Writer) int {
	var l load
	f := flag.NewFlagSet("client", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&l.url, "url", "http://127.0.0.1:8199", "endpoint, without /v1")
	f.StringVar(&l.model, "model", "", "model; the first one that is served if not given")
	f.IntVar(&l.concurrency, "concurrency", 64, "requests at once")
	f.IntVar(&l.requests, "requests", 128, "requests in all")
	f.IntVar(&l.input, "input", 0, "tokens of a prompt, about; 0 is a few words")
	f.IntVar(&l.output, "output", 100, "tokens of an answer")
	f.DurationVar(&l.ramp, "ramp", -1, "time over which the first requests start; -1 is half a millisecond for each")
	f.DurationVar(&l.within, "within", 30*time.Second, "the longest silence")
	f.BoolVar(&l.calibrate, "calibrate", true, "find out the client's own error before and beside the load; without it times between tokens are withheld")
	f.BoolVar(&l.anyLength, "any-length", false, "take answers that end before the tokens asked for")
	f.StringVar(&l.tokenizer, "tokenizer", "", "tokenizer.json to count tokens with, beside the server's own count")
	f.Uint64Var(&l.seed, "seed", uint64(time.Now().UnixNano()), "seed of the prompts")
	folder := f.String("out", "", "folder for summary.json; the summary is printed in any case")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return healthy
	} else if err != nil {
		return usage
	}
	if l.concurrency < 1 || l.requests < 1 || l.output < 1 || l.input < 0 || f.NArg() > 0 {
		fmt.Fprintln(errs, "client: -concurrency, -requests and -output are at least 1, and nothing follows the flags")
		return usage
	}
	if l.ramp < 0 {
		l.ramp = time.Duration(l.concurrency) * time.Millisecond / 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := run(ctx, l)
	if err != nil {
		fmt.Fprintln(errs, "client:", err)
		r = result{ExitCode: harmful, Complaints: []string{err.Error()}}
	}
	r.Peer = "infbench"
	if err := r.write(*folder, out); err != nil {
		fmt.Fprintln(errs, "client:", err)
		return harmful
	}
	for _, c := range r.Complaints {
		fmt.Fprintln(errs, "client:", c)
	}
	return r.ExitCode
}

func (r result) write(folder string, out io.Writer) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if folder != "" {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := whole.Write(filepath.Join(folder, "summary.json"), func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	_, err = out.Write(b)
	return err
}
