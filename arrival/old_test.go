package arrival_test

import (
	"encoding/json"
	"testing"
	"time"

	"infbench/arrival"
)

// What records hold since the first version: read as ever, equal to the model that is made
// today, and written as it was read, since a line of a record has a digest.
func TestOldJSON(t *testing.T) {
	t.Parallel()
	ok := must(t)
	for text, want := range map[string]arrival.ArrivalModel{
		`{"kind":"burst","requests":16}`:                                                                                           ok(arrival.Burst(16)),
		`{"kind":"constant","requests_per_second":2.5}`:                                                                            ok(arrival.Constant(2.5)),
		`{"kind":"poisson","requests_per_second":1.5,"seed":"a"}`:                                                                  ok(arrival.Poisson(1.5, "a")),
		`{"kind":"sessions","sessions":1,"mean_think_ns":0,"seed":"s"}`:                                                            ok(arrival.Sessions(1, 0, "s")),
		`{"kind":"sessions","sessions":4,"mean_think_ns":2000000000,"seed":"s"}`:                                                   ok(arrival.Sessions(4, 2*time.Second, "s")),
		`{"kind":"sessions","sessions":4,"mean_think_ns":2000000000,"start":"stationary","seed":"s"}`:                              ok(arrival.Sessions(4, 2*time.Second, "s")),
		`{"kind":"sweep","levels":[{"kind":"sessions","sessions":1,"mean_think_ns":0,"seed":"s"},{"kind":"burst","requests":16}]}`: ok(arrival.Sweep(ok(arrival.Sessions(1, 0, "s")), ok(arrival.Burst(16)))),
	} {
		var m arrival.ArrivalModel
		if err := json.Unmarshal([]byte(text), &m); err != nil || !m.Equal(want) || m.String() != want.String() {
			t.Errorf("%s is read as %s, %v; want %s", text, m, err, want)
		}
		if b, err := json.Marshal(m); err != nil || string(b) != text {
			t.Errorf("%s is written as %s, %v", text, b, err)
		}
	}
}

// The JSON of today, by hand: what a reader of records relies on.
func TestJSON(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"gamma:rate=4,shape=0.25,seed=a":                                    `{"kind":"gamma","requests_per_second":4,"shape":0.25,"seed":"a"}`,
		"weibull:rate=4,shape=0.7,seed=a":                                   `{"kind":"weibull","requests_per_second":4,"shape":0.7,"seed":"a"}`,
		"ramp:from=1,to=10,over=60s,seed=a":                                 `{"kind":"ramp","from_requests_per_second":1,"to_requests_per_second":10,"over_ns":60000000000,"seed":"a"}`,
		"sessions:n=1,seed=s":                                               `{"kind":"sessions","sessions":1,"mean_think_ns":0,"start":"all-at-once","seed":"s"}`,
		"sessions:n=4,think=2s,seed=s":                                      `{"kind":"sessions","sessions":4,"mean_think_ns":2000000000,"start":"stationary","seed":"s"}`,
		"sessions:n=4,think=2s,think-law=constant,start=staggered,seed=s":   `{"kind":"sessions","sessions":4,"think_law":"constant","mean_think_ns":2000000000,"start":"staggered","start_over_ns":2000000000,"seed":"s"}`,
		"sessions:n=4,think-p50=9s,think-p95=157s,start=all-at-once,seed=s": `{"kind":"sessions","sessions":4,"think_law":"lognormal","median_think_ns":9000000000,"p95_think_ns":157000000000,"start":"all-at-once","seed":"s"}`,
		"replay:mode=open,file=testdata/traces/own_open.csv,scale=0.5":      `{"kind":"replay","mode":"open","scale":0.5,"gaps_us":[0,250000,0,3250000]}`,
		"replay:mode=closed,file=testdata/traces/own_closed.jsonl":          `{"kind":"replay","mode":"closed","scale":1,"thinks_us":[[0,9000000,157500000],[2000000,1]]}`,
	} {
		m, err := arrival.Parse(form)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(m); err != nil || string(b) != want {
			t.Errorf("%s: got %s, %v; want %s", form, b, err, want)
		}
	}
}

// What a person reads.
func TestSaid(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"gamma:rate=4,shape=0.25,seed=a":                                    `open loop, gamma gaps of shape 0.25 (CV 2), 4 requests/s, seed "a"`,
		"weibull:rate=4,shape=0.5,seed=a":                                   `open loop, Weibull gaps of shape 0.5 (CV 2.24), 4 requests/s, seed "a"`,
		"ramp:from=1,to=10,over=60s,seed=a":                                 `open loop, Poisson from 1 to 10 requests/s over 1m0s, then 10, seed "a"`,
		"sessions:n=4,think=2s,seed=s":                                      `closed loop, 4 sessions, think time exponential with mean 2s, seed "s"`,
		"sessions:n=4,start=staggered,over=1m":                              `closed loop, 4 sessions, no think time, starts staggered over 1m0s`,
		"sessions:n=1,think-p50=9s,think-p95=157s,start=all-at-once,seed=s": `closed loop, 1 session, think time lognormal with median 9s and 95th percentile 2m37s (mean 40.765s), all start at once, seed "s"`,
		"replay:mode=open,file=testdata/traces/own_open.csv,scale=0.5":      `open loop, replay of 4 requests over 1.75s, recording e6063d50, times × 0.5`,
		"replay:mode=closed,file=testdata/traces/own_closed.jsonl":          `closed loop, replay of 2 sessions with 5 requests and their think times, recording 15ac013a`,
	} {
		m, err := arrival.Parse(form)
		if err != nil {
			t.Fatal(err)
		}
		if m.String() != want {
			t.Errorf("%s: got %q, want %q", form, m, want)
		}
	}
}
