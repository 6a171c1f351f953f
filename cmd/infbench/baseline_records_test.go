package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"infbench/baseline"
	"infbench/baseline/baselinetest"
	"infbench/record"
)

// baselineRecord appends the record of a made-up baseline to a file:
//
//	baseline-record FILE NUMBER [key=value…]
//
// where slower=2 and prefill=2 are factors of the time of a token and of a cold prompt, and the
// other keys are fields of [baselinetest.Parts].
func baselineRecord(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: baseline-record FILE NUMBER [key=value…]")
	}
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	p := baselinetest.Standard(number)
	for _, a := range args[2:] {
		key, value, _ := strings.Cut(a, "=")
		n, _ := strconv.ParseFloat(value, 64)
		switch key {
		case "slower":
			was := p.TPOT
			p.TPOT = func(d baseline.Depth, warm bool, repeat int) time.Duration {
				return time.Duration(n * float64(was(d, warm, repeat)))
			}
		case "prefill":
			was := p.TTFT
			p.TTFT = func(d baseline.Depth, warm bool, repeat int) time.Duration {
				if warm {
					return was(d, warm, repeat)
				}
				return time.Duration(n * float64(was(d, warm, repeat)))
			}
		case "repeats":
			p.Suite, err = p.Suite.Repeated(int(n))
			ts.Check(err)
		case "suite":
			p.Suite, err = baseline.NewSuite(value, baseline.FrozenSeed, 5, baseline.Depth{PromptTokens: 256, MaxTokens: 32})
			ts.Check(err)
		case "prompts":
			p.Prompts = value
		case "proven":
			p.Proven = value == "true"
		case "forced":
			p.Forced = value == "true"
		case "source":
			p.Source = record.TokenSource(value)
		case "accelerator":
			p.Accelerator = record.Known(value)
			if value == "" {
				p.Accelerator = record.Unknown("nobody says")
			}
		case "model":
			p.Model, err = strconv.Unquote(`"` + value + `"`)
			ts.Check(err)
		case "think":
			p.Think, err = time.ParseDuration(value)
			ts.Check(err)
		case "void":
			p.Void = value
		case "stopped":
			p.Stopped = value
		case "failed":
			p.Failed = strings.Fields(value)
		case "sweep":
			p.Sweep = true
		default:
			ts.Fatalf("no property %q", key)
		}
	}
	line, err := baselinetest.Run(p).MarshalJSON()
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.Write(append(line, '\n'))
	ts.Check(err)
	ts.Check(f.Close())
}
