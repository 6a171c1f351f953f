package arrival_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"infbench/arrival"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T) func(arrival.ArrivalModel, error) arrival.ArrivalModel {
	return func(m arrival.ArrivalModel, err error) arrival.ArrivalModel {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// all is one model of each kind and each of its forms.
func all(t *testing.T) []arrival.ArrivalModel {
	ok := must(t)
	one, four := ok(arrival.Sessions(1, 0, "s")), ok(arrival.Sessions(4, 2*time.Second, "s"))
	return []arrival.ArrivalModel{
		ok(arrival.Burst(16)), ok(arrival.Constant(2.5)), ok(arrival.Poisson(1.5, "a")), ok(arrival.Gamma(1.5, 0.5, "a")), ok(arrival.Weibull(1.5, 0.7, "a")),
		ok(arrival.Ramp(0, 10, time.Minute, "a")), one, four, ok(arrival.Sweep(one, four)),
		ok(arrival.SessionsOf(3, thinks(t)["lognormal"], arrival.StationaryStart(), "s")),
		ok(arrival.SessionsOf(3, thinks(t)["constant"], arrival.StartAtOnce(), "s")),
		ok(arrival.SessionsOf(3, thinks(t)["none"], arrival.StaggeredStart(time.Minute), "s")),
		ok(arrival.SessionsOf(3, thinks(t)["exponential"], arrival.StaggeredStart(0), "s")),
		ok(arrival.Replay([]time.Duration{0, 0, time.Second, 3 * time.Second}, 0.5)),
		ok(arrival.ReplaySessions([][]time.Duration{{0, time.Second}, {time.Minute}}, 1)),
	}
}

func thinks(t *testing.T) map[string]arrival.Think {
	t.Helper()
	e, err1 := arrival.ExponentialThink(2 * time.Second)
	c, err2 := arrival.ConstantThink(4 * time.Second)
	l, err3 := arrival.LognormalThink(9*time.Second, 157*time.Second)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return map[string]arrival.Think{"exponential": e, "constant": c, "lognormal": l, "none": {}}
}

func TestModelsSurviveJSON(t *testing.T) {
	t.Parallel()
	for _, m := range all(t) {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		var back arrival.ArrivalModel
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !back.Equal(m) || back.String() != m.String() || back.Kind() != m.Kind() {
			t.Errorf("%s came back as %s", m, back)
		}
	}
}

func TestTextForms(t *testing.T) {
	t.Parallel()
	for _, form := range arrival.Usage() {
		if _, err := arrival.Parse(strings.Replace(form, "PATH", "testdata/traces/own_open.csv", 1)); err != nil {
			t.Errorf("the documented form %q does not parse: %v", form, err)
		}
	}
	for text, want := range map[string]string{
		"poisson:rate=0":              "rate of 0",
		"poisson:rate=NaN":            "rate of NaN",
		"constant":                    "rate is missing",
		"sessions:n=0":                "0 sessions",
		"sessions:n=2,think=-1s":      "think time",
		"sessions:n=2,thinks=1s":      "unknown key",
		"sessions:n=2,n=3":            "once each",
		"burst:n=two":                 "no whole number",
		"sweep:n=2":                   "unknown arrival model",
		"as-fast-as-possible":         "unknown arrival model",
		"poisson:rate=1,seed=":        "seed of 0 bytes",
		"constant:rate=1e99":          "rate of 1e+99",
		"sessions:n=1,think=lots":     "no duration",
		"burst:n=1000000000000000000": "burst of",
		"gamma:rate=1":                "shape is missing",
		"gamma:rate=1,shape=0":        "shape of 0",
		"gamma:rate=1,shape=NaN":      "shape of NaN",
		"weibull:rate=1,shape=x":      "no number",
		"weibull:rate=1,shape=1e9":    "shape of 1e+09",
		"ramp:from=0,to=0,over=1s":    "rate of 0",
		"ramp:from=-1,to=1,over=1s":   "rate of -1",
		"ramp:from=1,to=2":            "ramp over 0s",
		"ramp:to=2,over=1s":           "from is missing",
		"replay:file=x":               "want mode=open",
		"replay:mode=open":            "file is missing",
		"replay:mode=open,file=/none": "no such file",
		"replay:mode=open,file=.":     "not a regular file",

		"sessions:n=1,think=1s,think-law=normal":                       "think-law",
		"sessions:n=1,think-law=constant":                              "constant think time of 0s",
		"sessions:n=1,think-law=exponential":                           "mean think time of 0s",
		"sessions:n=1,think-p50=1s":                                    "95th percentile",
		"sessions:n=1,think-p50=1s,think-p95=1s":                       "95th percentile",
		"sessions:n=1,think-p95=1s":                                    "median think time of 0s",
		"sessions:n=1,think=1s,think-p50=1s,think-p95=2s":              "not by think",
		"sessions:n=1,think-law=constant,think-p50=1s":                 "lognormal",
		"sessions:n=1,start=stationary":                                "without think time",
		"sessions:n=1,start=staggered":                                 "staggered over 0s",
		"sessions:n=1,start=later":                                     "want stationary",
		"sessions:n=1,over=3s":                                         "belongs to start=staggered",
		"sessions:n=1,think=1s,start=all-at-once,over=3s":              "belongs to start=staggered",
		"sessions:n=1,think=1s,start=staggered,over=-3s":               "staggered over -3s",
		"replay:mode=open,file=testdata/traces/ORIGIN.md":              "line 1: none of the columns",
		"replay:mode=closed,file=testdata/traces/own_open.csv":         "none of the columns think_s",
		"replay:mode=open,file=testdata/traces/own_open.csv,scale=0":   "scale of 0",
		"replay:mode=open,file=testdata/traces/own_open.csv,first=0":   "first=0",
		"replay:mode=open,file=testdata/traces/own_open.csv,first=two": "no whole number",
	} {
		if _, err := arrival.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func TestLabelsAreForms(t *testing.T) {
	t.Parallel()
	for _, m := range all(t) {
		if m.Kind() == "sweep" || m.Kind() == "replay" { // neither can be written in a word
			continue
		}
		back, err := arrival.Parse(m.Label())
		if err != nil || back.Label() != m.Label() || back.Kind() != m.Kind() {
			t.Errorf("%s: %q is read as %s, %v", m, m.Label(), back, err)
		}
	}
}

func TestZeroModelIsNone(t *testing.T) {
	t.Parallel()
	var zero arrival.ArrivalModel
	if _, err := json.Marshal(zero); err == nil {
		t.Error("the zero model marshals")
	}
	if _, _, err := arrival.Drive(t.Context(), zero, arrival.Stop{Requests: 1}, nil); err == nil {
		t.Error("the zero model drives a load")
	}
	for _, text := range []string{
		`{}`, `null`, `{"kind":"none"}`, `{"kind":"burst"}`, `{"kind":"burst","requests":1,"extra":2}`,
		`{"kind":"gamma","requests_per_second":1,"seed":"a"}`, `{"kind":"weibull","requests_per_second":1,"shape":1}`,
		`{"kind":"ramp","from_requests_per_second":1,"to_requests_per_second":2,"over_ns":0,"seed":"a"}`,
		`{"kind":"replay","mode":"open","scale":1}`, `{"kind":"replay","mode":"open","scale":1,"gaps_us":[1]}`, `{"kind":"replay","mode":"open","scale":1,"gaps_us":[0,-1]}`,
		`{"kind":"replay","mode":"open","scale":0,"gaps_us":[0]}`, `{"kind":"replay","mode":"closed","scale":1,"thinks_us":[[]]}`,
		`{"kind":"replay","mode":"closed","scale":1,"thinks_us":[[9223372036854775807,1]]}`, `{"kind":"replay","mode":"open","scale":1,"gaps_us":[0],"file":"x"}`,
		`{"kind":"replay","mode":"open","scale":1,"gaps_us":[0],"thinks_us":[[1]]}`,
		`{"kind":"sessions","sessions":4,"mean_think_ns":0,"start":"stationary","seed":"x"}`,
		`{"kind":"sessions","sessions":4,"mean_think_ns":5,"think_law":"lognormal","median_think_ns":5,"p95_think_ns":9,"seed":"x"}`,
		`{"kind":"sweep","levels":[]}`, `{"kind":"sweep","levels":[{"kind":"burst","requests":1},{"kind":"burst","requests":1}]}`,
		`{"kind":"sweep","levels":[{"kind":"sweep","levels":[{"kind":"burst","requests":1}]}]}`,
	} {
		m := zero
		if err := json.Unmarshal([]byte(text), &m); err == nil && !m.IsZero() {
			t.Errorf("%s makes a model: %s", text, m)
		}
	}
}

// due runs a model in virtual time against requests that take service and returns
// the due times in order.
func due(t *testing.T, m arrival.ArrivalModel, stop arrival.Stop, service time.Duration) []time.Duration {
	var out []time.Duration
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Time
		origin, n, err := arrival.Drive(t.Context(), m, stop, func(_ context.Context, s arrival.Slot) {
			if lag := time.Since(s.Due); lag != 0 {
				t.Errorf("request %d started %v after it was due", s.N, lag)
			}
			mu.Lock()
			at = append(at, s.Due)
			mu.Unlock()
			time.Sleep(service)
		})
		if err != nil || n != len(at) {
			t.Errorf("started %d of %d, %v", n, len(at), err)
		}
		for _, d := range at {
			out = append(out, d.Sub(origin))
		}
	})
	slices.Sort(out)
	return out
}

func TestOpenLoopIgnoresSlowAnswers(t *testing.T) {
	t.Parallel()
	got := due(t, must(t)(arrival.Constant(4)), arrival.Stop{Requests: 4}, time.Hour)
	want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond, time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("due at %v, want %v", got, want)
	}
}

func TestClosedLoopWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	got := due(t, must(t)(arrival.Sessions(2, 0, "x")), arrival.Stop{After: 25 * time.Second}, 10*time.Second)
	want := []time.Duration{0, 0, 10 * time.Second, 10 * time.Second, 20 * time.Second, 20 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("due at %v, want %v", got, want)
	}
}

func TestBurstIsAtOnceAndEnds(t *testing.T) {
	t.Parallel()
	if got := due(t, must(t)(arrival.Burst(3)), arrival.Stop{}, time.Second); !slices.Equal(got, make([]time.Duration, 3)) {
		t.Errorf("due at %v, want three times 0", got)
	}
}

// The mean gap of n exponential draws has a standard deviation of mean/√n; 4σ.
func TestPoissonRate(t *testing.T) {
	t.Parallel()
	const n, rate = 20_000, 50.0
	got := due(t, must(t)(arrival.Poisson(rate, "rate")), arrival.Stop{Requests: n}, 0)
	mean := got[n-1].Seconds() / n
	if sigma := 1 / rate / math.Sqrt(n); math.Abs(mean-1/rate) > 4*sigma {
		t.Errorf("mean gap %.6f s, want %.6f ± %.6f", mean, 1/rate, 4*sigma)
	}
	if again := due(t, must(t)(arrival.Poisson(rate, "rate")), arrival.Stop{Requests: n}, 0); !slices.Equal(got, again) {
		t.Error("equal seeds gave different schedules")
	}
	if other := due(t, must(t)(arrival.Poisson(rate, "other")), arrival.Stop{Requests: n}, 0); slices.Equal(got, other) {
		t.Error("different seeds gave one schedule")
	}
}

// An idle closed loop with think time Z and instant answers issues N/Z per second
// (the response-time law with R = 0); the count over T has mean NT/Z and, being
// Poisson, a standard deviation of its root.
func TestSessionsThink(t *testing.T) {
	t.Parallel()
	const n, horizon = 8, 10_000
	got := due(t, must(t)(arrival.Sessions(n, 4*time.Second, "think")), arrival.Stop{After: horizon * time.Second}, 0)
	want := float64(n*horizon) / 4
	if math.Abs(float64(len(got))-want) > 4*math.Sqrt(want) {
		t.Errorf("%d requests, want %.0f ± %.0f", len(got), want, 4*math.Sqrt(want))
	}
}

func TestAnotherSessionShiftsNobodysDraws(t *testing.T) {
	t.Parallel()
	first := func(sessions int) map[int]time.Duration {
		out := map[int]time.Duration{}
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			origin := time.Now()
			_, _, err := arrival.Drive(t.Context(), must(t)(arrival.Sessions(sessions, time.Second, "s")), arrival.Stop{After: time.Minute},
				func(_ context.Context, s arrival.Slot) {
					mu.Lock()
					defer mu.Unlock()
					if s.Turn == 0 {
						out[s.Session] = s.Due.Sub(origin)
					}
				})
			if err != nil {
				t.Error(err)
			}
		})
		return out
	}
	three, four := first(3), first(4)
	for s := range 3 {
		if three[s] != four[s] {
			t.Errorf("session %d begins at %v among three and at %v among four", s, three[s], four[s])
		}
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	for _, m := range all(t) {
		if m.Kind() == "sweep" {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, n, err := arrival.Drive(ctx, m, arrival.Stop{Requests: 5}, func(context.Context, arrival.Slot) { t.Errorf("%s started a request", m) })
		if n != 0 || err != nil {
			t.Errorf("%s: started %d, %v", m, n, err)
		}
	}
}

func FuzzModelJSON(f *testing.F) {
	f.Add([]byte(`{"kind":"poisson","requests_per_second":1,"seed":"a"}`))
	f.Add([]byte(`{"kind":"sweep","levels":[{"kind":"burst","requests":3}]}`))
	f.Add([]byte(`{"kind":"sessions","sessions":4,"mean_think_ns":5,"seed":"x"}`))
	f.Add([]byte(`{"kind":"sessions","sessions":4,"think_law":"lognormal","median_think_ns":5,"p95_think_ns":9,"start":"staggered","start_over_ns":7,"seed":"x"}`))
	f.Add([]byte(`{"kind":"gamma","requests_per_second":1,"shape":0.5,"seed":"a"}`))
	f.Add([]byte(`{"kind":"ramp","from_requests_per_second":0,"to_requests_per_second":2,"over_ns":9,"seed":"a"}`))
	f.Add([]byte(`{"kind":"replay","mode":"open","scale":0.5,"gaps_us":[0,0,9]}`))
	f.Add([]byte(`{"kind":"replay","mode":"closed","scale":1,"thinks_us":[[0,9],[7]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m arrival.ArrivalModel
		if err := json.Unmarshal(b, &m); err != nil {
			if !m.IsZero() {
				t.Fatalf("an error and a model: %v, %s", err, m)
			}
			return
		}
		if m.IsZero() {
			return // null leaves it as it was
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back arrival.ArrivalModel
		if err := json.Unmarshal(again, &back); err != nil || !back.Equal(m) {
			t.Fatalf("%s does not come back: %v", again, err)
		}
	})
}
