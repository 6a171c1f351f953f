package endpoint

import (
	"context"

	"infbench/gates"
)

var _ = adapt(adapter{name: "infbench-reference", rank: 10, recognise: func(ctx context.Context, s *surface) Engine {
	if s.ownedBy(ctx) == "infbench" {
		return reference{vllm{s}}
	}
	return nil
}})

// reference is the engine that infbench carries with it: vLLM's routes and names,
// and a clock model where others have a device.
type reference struct{ vllm }

// Name returns "infbench-reference".
func (reference) Name() string { return "infbench-reference" }

// Identify is vLLM's, and the device from /version.
func (e reference) Identify(ctx context.Context) (Build, error) {
	b, err := e.vllm.Identify(ctx)
	b.Device = e.s.json(ctx, "/version", "device").Str
	b.Image = e.s.json(ctx, "/version", "image").Str
	return b, err
}

// Unable knows that a clock model has no kernels.
func (e reference) Unable(c gates.Capability) string {
	if c == Kernels {
		return "the embedded engine computes with a clock model and has no kernels"
	}
	return e.vllm.Unable(c)
}
