package arrival

import (
	"encoding/json"
	"fmt"
)

// The shapes that a law of gaps may have. At the least the gamma law has a CV of 3.2 and
// the Weibull law one of 430; at the most both are nearly constant.
const minShape, maxShape = 0.1, 1000

func checkShape(k float64) error {
	if !(k >= minShape && k <= maxShape) { // also refuses NaN
		return fmt.Errorf("a shape of %v: want %v to %v", k, minShape, maxShape)
	}
	return nil
}

// shaped is what open loops with a law of two parameters have in common.
type shaped struct {
	rate, shape float64
	seed        string
}

func newShaped(rate, shape float64, seed string) (shaped, error) {
	for _, err := range []error{checkRate(rate), checkShape(shape), checkSeed(seed)} {
		if err != nil {
			return shaped{}, err
		}
	}
	return shaped{rate, shape, seed}, nil
}

func (s shaped) spec() any {
	return struct {
		Rate  float64 `json:"requests_per_second"`
		Shape float64 `json:"shape"`
		Seed  string  `json:"seed"`
	}{s.rate, s.shape, s.seed}
}

// shapedKind is the kind whose constructor is given.
func shapedKind(name string, make func(rate, shape float64, seed string) (ArrivalModel, error)) kind {
	return kind{
		name:  name,
		usage: name + ":rate=1.5,shape=0.5,seed=NAME",
		decode: func(raw json.RawMessage) (ArrivalModel, error) {
			var w struct {
				Kind  string  `json:"kind"`
				Rate  float64 `json:"requests_per_second"`
				Shape float64 `json:"shape"`
				Seed  string  `json:"seed"`
			}
			if err := strict(raw, &w); err != nil {
				return ArrivalModel{}, err
			}
			return make(w.Rate, w.Shape, w.Seed)
		},
		parse: func(a arguments) (ArrivalModel, error) {
			r, err := a.rate("rate")
			if err != nil {
				return ArrivalModel{}, err
			}
			k, err := a.number("shape")
			if err != nil {
				return ArrivalModel{}, err
			}
			return make(r, k, a.text("seed", DefaultSeed))
		},
	}
}
