package arrival

import (
	"encoding/json"
	"fmt"
	"time"
)

var _ = register(kind{
	name:  "burst",
	usage: "burst:n=16",
	decode: func(raw json.RawMessage) (ArrivalModel, error) {
		var w struct {
			Kind     string `json:"kind"`
			Requests int    `json:"requests"`
		}
		if err := strict(raw, &w); err != nil {
			return ArrivalModel{}, err
		}
		return Burst(w.Requests)
	},
	parse: func(a arguments) (ArrivalModel, error) {
		n, err := a.count("n")
		if err != nil {
			return ArrivalModel{}, err
		}
		return Burst(n)
	},
})

// maxRequests bounds the number of requests that one model may ask for at once.
const maxRequests = 1_000_000

type burst struct{ n int }

// Burst is n requests at once at the start: a transient, not a steady state.
func Burst(n int) (ArrivalModel, error) {
	if n < 1 || n > maxRequests {
		return ArrivalModel{}, fmt.Errorf("a burst of %d requests: want 1 to %d", n, maxRequests)
	}
	return ArrivalModel{burst{n}}, nil
}

func (burst) kind() string { return "burst" }

func (b burst) String() string { return fmt.Sprintf("burst of %d at once", b.n) }

func (b burst) requests() int { return b.n }

func (b burst) label() string { return fmt.Sprintf("burst:n=%d", b.n) }

func (b burst) spec() any {
	return struct {
		Requests int `json:"requests"`
	}{b.n}
}

func (b burst) gaps() func() (time.Duration, bool) {
	left := b.n
	return func() (time.Duration, bool) {
		left--
		return 0, left >= 0
	}
}
