package hardware

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/generates",
	Doc: `the server generates a token, and the second request is not far quicker than the first

A kernel that was not compiled for the device fails at the first request, or is compiled then, with minutes of silence. A health URL
that says yes proves nothing of it: the engine process can be dead behind it.`,
	Since:   "0.1.0",
	Cost:    500 * time.Millisecond,
	Needs:   []gates.Capability{endpoint.Server},
	Modes:   []string{"NUM-01", "NUM-02", "NUM-03", "OPS-01", "OPS-02"},
	Faults:  []string{"http500", "hang", "empty", "slow-first"},
	Engines: []string{"vllm", "sglang", "tensorrt-llm"},
	Causes:  []string{"the image holds no kernels for this device", "the engine process is dead or hung behind a living front end", "kernels are compiled at the first request"},
	Next:    []string{"the server's log, around this request", "an image with native code for the device"},
	Run:     generates,
})

// slowRatio and slowFirst bound what a first request may cost over the second.
const slowRatio = 10

var slowFirst = 20 * time.Second // lowered by the tests

func generates(ctx context.Context, s Subject) (gates.Finding, error) {
	ask := endpoint.Chat("Hello").MaxTokens(4)
	first := s.Stream(ctx, ask)
	if err := first.Err(); err != nil {
		return gates.Finding{}, err
	}
	second := s.Complete(ctx, ask)
	if err := second.Err(); err != nil {
		return gates.Finding{}, err
	}
	n, counted := first.Usage.Completion.N()
	if first.Everything() == "" && second.Everything() == "" && (!counted || n > 1) {
		return gates.Fail("two requests ended without a single character").With("finish_reason %s, %d tokens counted", gates.Quote(first.Finish, 20), n), nil
	}
	took, again := first.Timing.Ended, second.Timing.Ended
	if took > slowFirst && took > slowRatio*again {
		return gates.Warn("the first request took %v, the second %v: something was compiled or loaded", took.Round(time.Second), again.Round(time.Millisecond)), nil
	}
	return gates.Pass("generates; first request %v, second %v", took.Round(time.Millisecond), again.Round(time.Millisecond)), nil
}
