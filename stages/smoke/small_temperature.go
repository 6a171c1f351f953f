package smoke

import (
	"context"
	"errors"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/small-temperature",
	Doc: `a temperature just above 0 answers as 0 does

Logits that are divided by a tiny number overflow; then come an empty answer, an error or noise, and only for the clients that send such a temperature
in the belief that 0 is not allowed.`,
	Since:  "0.2.0",
	Cost:   600 * time.Millisecond,
	Modes:  []string{"NUM-15"},
	Faults: []string{"tiny-temperature-empty"},
	Causes: []string{"the sampler divides by the temperature in half precision"},
	Next:   []string{"temperature 0 in the clients, or a later release"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		for _, t := range []float64{0.0001, 0.01} {
			a := ep.Stream(ctx, endpoint.Chat("Count from 1 to 20, separated by commas.").Temperature(t).MaxTokens(8))
			var f *endpoint.Failure
			switch err := a.Err(); {
			case errors.As(err, &f) && f.Kind == endpoint.Refused:
				continue // in words, which is its right
			case errors.As(err, &f) && (f.Kind == endpoint.ServerFault || aboutStream(f) && f.Kind != endpoint.TooSlow):
				return gates.Warn("temperature %g is no temperature to this server: %v", t, err), nil
			case err != nil:
				return gates.Finding{}, err
			case a.Everything() == "":
				return gates.Warn("temperature %g is answered with nothing, finish_reason %s", t, gates.Quote(a.Finish, 20)), nil
			}
		}
		return gates.Pass("0.0001 and 0.01 are answered"), nil
	},
})
