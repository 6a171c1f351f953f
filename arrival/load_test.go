package arrival_test

import (
	"testing"

	"infbench/arrival"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]arrival.Load{
		"sessions:n=4":                  {Family: "sessions:n=…", Amount: 4, Users: true},
		"sessions:n=4,think=2s":         {Family: "sessions:n=…,think=2s", Amount: 4, Users: true},
		"sessions:n=9,think=2s,seed=XY": {Family: "sessions:n=…,think=2s", Amount: 9, Users: true},
		"poisson:rate=1.5":              {Family: "poisson:rate=…", Amount: 1.5},
		"constant:rate=2":               {Family: "constant:rate=…", Amount: 2},
	} {
		m, err := arrival.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Load(); !ok || got != want {
			t.Errorf("%s: %+v %v, want %+v", text, got, ok, want)
		}
	}
	burst, err := arrival.Burst(3)
	if err != nil {
		t.Fatal(err)
	}
	sweep, err := arrival.Sweep(burst)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []arrival.ArrivalModel{burst, sweep, {}} {
		if l, ok := m.Load(); ok {
			t.Errorf("%s has the load %+v", m, l)
		}
	}
}
