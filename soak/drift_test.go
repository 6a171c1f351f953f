package soak

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
)

// history returns a soak of 8 hours with a reading at each step, made by a function of the hours.
func history(t testing.TB, step, until time.Duration, make func(hours float64) Reading) *History {
	t.Helper()
	h := &History{}
	add := func(at time.Duration, e Event) {
		if err := h.Add(Entry{time.Unix(0, 0).Add(at).UTC(), at, e}); err != nil {
			t.Fatal(err)
		}
	}
	add(0, Begun{"r", "h", DefaultPlan(), subject(t)})
	n := 0
	for at := time.Duration(0); at <= until; at += step {
		n++
		r := make(at.Hours())
		r.Round = n
		add(at, r)
	}
	return h
}

func trendOf(t testing.TB, h *History, metric string) Trend {
	t.Helper()
	for _, tr := range h.Trends() {
		if tr.Metric == metric {
			return tr
		}
	}
	t.Fatalf("there is no metric %s", metric)
	return Trend{}
}

// noise is a fixed sequence in ±1.
func noise(seed uint64) func() float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() float64 { return 2*r.Float64() - 1 }
}

func TestTrends(t *testing.T) {
	t.Parallel()
	const every, long = 5 * time.Minute, 8 * time.Hour
	n := gates.CountOf
	first := func(f func(hours float64) float64) func(float64) Reading {
		return func(h float64) Reading { return Reading{FirstToken: ratio(f(h))} }
	}
	r := noise(3)
	for name, c := range map[string]struct {
		metric      string
		step, until time.Duration
		make        func(float64) Reading
		word        Word
		perHour     float64 // within a tenth of the limit
		says        string
	}{
		"flat":              {"first token", every, long, first(func(float64) float64 { return 1 }), Steady, 0, ""},
		"flat and noisy":    {"first token", every, long, first(func(float64) float64 { return 1 + 0.2*r() }), Steady, 0, ""},
		"12 % an hour":      {"first token", every, long, first(func(h float64) float64 { return 1 + 0.12*h + 0.03*r() }), Creeps, 11.3, "it grows by more than 10 % an hour"}, // of the first hour's median, which is 1.06
		"9 % an hour":       {"first token", every, long, first(func(h float64) float64 { return 1 + 0.09*h + 0.03*r() }), Steady, 8.6, "it does not grow by 10 % an hour"},
		"falls":             {"first token", every, long, first(func(h float64) float64 { return 2 - 0.2*h }), Steady, -10.5, ""},
		"four rounds":       {"first token", time.Hour, 3 * time.Hour, first(func(h float64) float64 { return 1 + h }), Unclear, 0, "4 rounds: 5 are needed at least"},
		"noise for an hour": {"first token", every, time.Hour / 2, first(func(h float64) float64 { return 1 + 0.5*r() }), Unclear, 0, "do not tell"},
		"never measured":    {"first token", every, long, first(func(float64) float64 { return 0 }), Unclear, 0, "it was not measured"},
		"five in a row":     {"first token", 10 * time.Minute, 40 * time.Minute, first(func(h float64) float64 { return 1 + h }), Unclear, 100, "do not tell"}, // by chance once in 120 times
		"seven in a row":    {"first token", 5 * time.Minute, 30 * time.Minute, first(func(h float64) float64 { return 1 + h }), Creeps, 80, ""},
		"too short to fall": {"right answers", time.Minute, 10 * time.Minute, func(float64) Reading { return Reading{Load: Answers{Asked: 50, Right: 50}} }, Unclear, 0, "10m0s are too short to tell 2 points an hour"},
		"one wild round":    {"first token", every, long, first(func(h float64) float64 { return map[bool]float64{true: 90, false: 1}[h == 4] }), Steady, 0, ""},
		"memory leaks":      {"resident memory", every, long, func(h float64) Reading { return Reading{Rest: endpoint.Gauges{ResidentBytes: n(int(4e9 + 8e8*h))}} }, Creeps, 18, ""},
		"memory settles": {"resident memory", every, long, func(h float64) Reading {
			return Reading{Rest: endpoint.Gauges{ResidentBytes: n(int(4e9 + 4e9*min(1, h)))}} // doubles in the first hour, as caches fill
		}, Steady, 0, ""},
		"no memory": {"resident memory", every, long, func(float64) Reading { return Reading{} }, Unshown, 0, "the server does not show it"},
		"answers get worse": {"right answers", every, long, func(h float64) Reading {
			return Reading{Load: Answers{Asked: 1000, Right: 1000 - int(40*h), Wrong: int(40 * h)}}
		}, Creeps, -4, "it falls by more than 2 points an hour"},
		"a weak model": {"right answers", every, long, func(float64) Reading {
			wrong := 250 + int(60*r())
			return Reading{Load: Answers{Asked: 1000, Right: 1000 - wrong, Wrong: wrong}}
		}, Steady, 0, ""},
		"the cache forgets": {"cached share", every, long, func(h float64) Reading {
			return Reading{Load: Answers{PromptTokens: n(10000), CachedTokens: n(8000 - int(900*h))}}
		}, Creeps, -9, ""},
		"blocks are lost":   {"KV cache at rest", every, long, func(h float64) Reading { return Reading{Rest: endpoint.Gauges{KVPermille: n(int(100 * h))}} }, Creeps, 10, ""},
		"requests are lost": {"running at rest", every, long, func(h float64) Reading { return Reading{Rest: endpoint.Gauges{Running: n(int(3 * h))}} }, Creeps, 3, ""},
		"idle":              {"queued at rest", every, long, func(float64) Reading { return Reading{Rest: endpoint.Gauges{Waiting: n(0)}} }, Steady, 0, ""},
		"preempts more":     {"preempted a round", every, long, func(h float64) Reading { return Reading{Rest: endpoint.Gauges{Preempted: n(int(12 * h * h))}} }, Creeps, 2, ""},
		"preempts as ever":  {"preempted a round", every, long, func(h float64) Reading { return Reading{Rest: endpoint.Gauges{Preempted: n(int(120 * h))}} }, Steady, 0, ""},
	} {
		tr := trendOf(t, history(t, c.step, c.until, c.make), c.metric)
		if tr.Word != c.word || !strings.Contains(tr.Why, c.says) {
			t.Errorf("%s: %s: %s, want %s", name, tr.Word, tr.Why, c.word)
		}
		if within := 0.1 * metricOf(t, c.metric).limit; tr.PerHour != nil && (*tr.PerHour < c.perHour-within || *tr.PerHour > c.perHour+within) && tr.Word != Unclear {
			t.Errorf("%s: %v %s an hour, want %v", name, *tr.PerHour, tr.Unit, c.perHour)
		}
		if c.word == Unclear && tr.Rounds < 5 && tr.PerHour != nil {
			t.Errorf("%s: %d rounds say %v an hour", name, tr.Rounds, *tr.PerHour)
		}
		if _, err := json.Marshal(tr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func metricOf(t testing.TB, name string) metric {
	t.Helper()
	for _, m := range metrics {
		if m.name == name {
			return m
		}
	}
	t.Fatalf("there is no metric %s", name)
	return metric{}
}

// A sudden fall of the speed shows in no median of slopes; three rounds of it are told, two
// are not, and a server that is back is well.
func TestDecodeSpeed(t *testing.T) {
	t.Parallel()
	slowFrom := func(from, to float64) *History {
		return history(t, 10*time.Minute, 4*time.Hour, func(h float64) Reading {
			if h > from && h < to {
				return Reading{PerToken: ratio(2.5)}
			}
			return Reading{PerToken: ratio(1)}
		})
	}
	for name, c := range map[string]struct {
		h    *History
		word Word
	}{
		"slow for three rounds": {slowFrom(3.6, 9), Creeps},
		"for two":               {slowFrom(3.75, 9), Steady},
		"and back":              {slowFrom(2, 3), Steady},
		"never":                 {slowFrom(9, 9), Steady},
		"too short":             {history(t, 10*time.Minute, 20*time.Minute, func(float64) Reading { return Reading{PerToken: ratio(1)} }), Unclear},
		"not measured":          {history(t, 10*time.Minute, 4*time.Hour, func(float64) Reading { return Reading{} }), Unclear},
	} {
		if tr := trendOf(t, c.h, "decode speed"); tr.Word != c.word {
			t.Errorf("%s: %s: %s", name, tr.Word, tr.Why)
		}
	}
	if now, _ := trendOf(t, slowFrom(3.6, 9), "decode speed").Now.Times(); now != 0.4 {
		t.Errorf("×%v as fast, want ×0.4", now)
	}
}

// Steady servers with noise are looked at after each round of 8 hours: is any alarm told?
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	alarms, ends := 0, 0
	const soaks = 40
	for seed := range uint64(soaks) {
		r := noise(seed + 100)
		var seen bool
		h := &History{}
		add := func(at time.Duration, e Event) {
			if err := h.Add(Entry{time.Unix(0, 0).Add(at).UTC(), at, e}); err != nil {
				t.Fatal(err)
			}
		}
		add(0, Begun{"r", "h", DefaultPlan(), subject(t)})
		for i := range 49 { // every 10 minutes
			wrong := 5 + int(3*r())
			add(time.Duration(i)*10*time.Minute, Reading{
				Round: i + 1, FirstToken: ratio(1 + 0.3*r()), PerToken: ratio(1 + 0.1*r()),
				Rest: endpoint.Gauges{ResidentBytes: gates.CountOf(int(4e9 * (1 + 0.05*r()))), Running: gates.CountOf(0)}, Load: Answers{Asked: 100, Right: 100 - wrong, Wrong: wrong},
			})
			seen = seen || len(h.alarms()) > 0
		}
		if seen {
			alarms++
		}
		for _, tr := range h.Trends() {
			if tr.Word == Creeps {
				ends++
			}
		}
	}
	t.Logf("%d of %d soaks with an alarm on the way, %d trends at their ends", alarms, soaks, ends)
	if alarms > 0 || ends > 0 {
		t.Errorf("%d of %d steady servers raise an alarm on the way, %d at the end", alarms, soaks, ends)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    Ratio
		want string
	}{
		{RatioOf(3*time.Second, 2*time.Second), "1.5"},
		{RatioOf(0, time.Second), "null"},
		{RatioOf(time.Second, 0), "null"},
		{RatioOf(-time.Second, time.Second), "null"},
		{RatioOf(time.Hour, time.Nanosecond), "null"}, // beyond what a server can be slower
		{RatioOf(2*time.Second, 3*time.Second), "0.6667"},
		{Ratio{}, "null"},
	} {
		b, err := json.Marshal(c.r)
		if err != nil || string(b) != c.want {
			t.Errorf("%v: %s, %v, want %s", c.r, b, err, c.want)
		}
		var back Ratio
		if err := json.Unmarshal(b, &back); err != nil || back != c.r {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
	}
	for _, bad := range []string{"0", "-1", "1e7", `"1"`, "{}", "1e999"} {
		if err := json.Unmarshal([]byte(bad), new(Ratio)); err == nil {
			t.Errorf("%s is a ratio", bad)
		}
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	good := DefaultPlan()
	if err := good.Validate(); err != nil || good.For != 8*time.Hour || good.Every != 5*time.Minute || good.Sessions != 2 {
		t.Fatalf("%+v, %v", good, err)
	}
	b, err := json.Marshal(good)
	var back Plan
	if err2 := json.Unmarshal(b, &back); err != nil || err2 != nil || back != good {
		t.Errorf("%s came back as %+v, %v, %v", b, back, err, err2)
	}
	for name, change := range map[string]func(*Plan){
		"no time": func(p *Plan) { p.For = 0 }, "years": func(p *Plan) { p.For = 3000 * time.Hour }, "no pause": func(p *Plan) { p.Every = 0 },
		"a million rounds": func(p *Plan) { p.For, p.Every = 2000*time.Hour, time.Second }, "no session": func(p *Plan) { p.Sessions = 0 },
		"many": func(p *Plan) { p.Sessions = 100000 }, "no think time": func(p *Plan) { p.Think = 0 },
	} {
		p := good
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%s: %+v is a plan", name, p)
		}
		if b, _ := json.Marshal(p); json.Unmarshal(b, new(Plan)) == nil {
			t.Errorf("%s: %s is read as a plan", name, b)
		}
	}
	other := good
	other.Every, other.KeepGoing = time.Minute, true
	if d := good.Difference(other); d != "every was 5m0s, is 1m0s; keep-going was false, is true" {
		t.Error(d)
	}
}

// The lists that name checks of other packages name ones that are there.
func TestNamesAreThere(t *testing.T) {
	t.Parallel()
	for _, id := range append([]string{sameServer}, idle...) {
		found := false
		for _, i := range infos() {
			found = found || i.ID == id
		}
		if !found {
			t.Errorf("there is no check %s", id)
		}
	}
	if err := overTime.Validate(); err != nil {
		t.Error(err)
	}
}

func infos() []gates.Info { return correctness.Infos() }
