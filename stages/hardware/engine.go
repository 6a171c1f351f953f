package hardware

import (
	"context"
	"strconv"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/engine",
	Doc: `the server says which engine it is and how it is configured

Numbers about an engine nobody can name cannot be compared with anything. Two images can report the same version and differ in their
kernels, so the version alone is no identity; what the server tells is recorded, what it does not is recorded as unknown.`,
	Since:  "0.1.0",
	Cost:   100 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Server},
	Modes:  []string{"NUM-06", "IDN-01"},
	Faults: []string{"nameless"},
	Causes: []string{"a gateway hides the engine behind it", "an engine that infbench does not know"},
	Next:   []string{"the target past the gateway, straight to the engine"},
	Run: func(_ context.Context, s Subject) (gates.Finding, error) {
		b := s.Build()
		told := []string{s.Engine().Name()}
		if b.Version != "" {
			told = append(told, "version "+b.Version)
		}
		if n, ok := b.ContextTokens.N(); ok {
			told = append(told, "context "+strconv.Itoa(n)+" tokens")
		}
		if n, ok := b.Slots.N(); ok {
			told = append(told, strconv.Itoa(n)+" slots")
		}
		if b.Checkpoint != "" {
			told = append(told, "weights "+b.Checkpoint)
		}
		if b.Config != "" {
			told = append(told, "config "+b.Config)
		}
		line := strings.Join(told, ", ")
		if s.Engine().Name() == "generic" {
			return gates.Warn("the engine is not recognised").With("%s", line), nil
		}
		return gates.Pass("%s", line), nil
	},
})
