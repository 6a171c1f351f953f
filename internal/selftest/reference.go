package selftest

import (
	"cmp"
	"context"

	"infbench/stages/correctness/parity"
	"infbench/stages/endpoint"
)

// sameWeights is claimed of every row: the reference is its own engine. It is the coarsest
// claim that is still one of the same weights, since a real engine in company may round
// otherwise than alone.
var sameWeights = func() parity.Claim {
	p, err := parity.ParsePrecision("bf16")
	if err != nil {
		panic("selftest: " + err.Error())
	}
	return parity.Claim{Precision: p}
}()

// reference opens the row's engine once more, without the fault; end stops it.
func (o Options) reference(r *Row) (open func(context.Context) (endpoint.Endpoint, error), end func()) {
	var stops []func()
	open = func(ctx context.Context) (endpoint.Endpoint, error) {
		address, stop, err := o.serve(ctx, r, "")
		if err != nil {
			return endpoint.Endpoint{}, err
		}
		stops = append(stops, stop)
		target, err := endpoint.ParseTarget(address, o.TargetOptions)
		if err != nil {
			return endpoint.Endpoint{}, err
		}
		ep, err := endpoint.Open(ctx, target, endpoint.Options{Model: o.Model, InFlight: 1, Seed: cmp.Or(o.Seed, 1), Limits: o.Limits})
		if err == nil {
			stops = append(stops, ep.Close)
		}
		return ep, err
	}
	return open, func() {
		for _, stop := range stops {
			defer stop()
		}
	}
}
