// Package x measures first and judges later.
package x

import (
	"context"

	"infbench/arrival"
	"infbench/stages"
	"infbench/stages/endpoint"
	"infbench/stages/performance"
)

func early(ctx context.Context, ep endpoint.Endpoint, a arrival.ArrivalModel) {
	_, _ = performance.Measure(ctx, ep, a, performance.Config{}, func(performance.Progress) {}) // want "not enough arguments|cannot use a"
	_, _ = stages.Gated(func(context.Context) (*performance.Sweep, error) { return nil, nil }, performance.Checks()) // want "does not match|cannot use"
}
