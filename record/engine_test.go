package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

func timed(sum time.Duration, n int) record.EngineTimer {
	return record.EngineTimer{Sum: gates.SpanOf(sum), N: gates.CountOf(n)}
}

// vector is the engine's account of n requests of the definitions' test vector: P=92,888,
// C=90,380, O=400, Q=.10, first token after 1.10 s, last after 9.08 s.
func vector(n int) record.EngineParts {
	c := func(each int) gates.Count { return gates.CountOf(n * each) }
	return record.EngineParts{
		Source: "vllm", Prompt: c(92_888), Computed: c(2_508), Cached: c(90_380), CacheQueries: c(92_888), CacheHits: c(90_380), Output: c(400), Finished: c(1), Preempted: gates.CountOf(0),
		Queue: timed(time.Duration(n)*100*time.Millisecond, n), Prefill: timed(time.Duration(n)*time.Second, n), Decode: timed(time.Duration(n)*7980*time.Millisecond, n),
		TTFT: timed(time.Duration(n)*1100*time.Millisecond, n), E2E: timed(time.Duration(n)*9080*time.Millisecond, n), Gap: timed(time.Duration(n)*7980*time.Millisecond, n*399),
	}
}

// perfWith makes a record of one serial level of n requests with the engine's account.
func perfWith(t *testing.T, n int, p record.EngineParts, change func(*record.LevelParts)) record.PerfRecord {
	t.Helper()
	_, model := recordtest.Measurements(n)
	parts := record.LevelParts{Arrival: model, Window: time.Duration(n) * 10 * time.Second, TokenGapsWithheld: "not known"}
	for i := range n {
		parts.Samples = append(parts.Samples, recordtest.Sample(time.Duration(i)*10*time.Second))
	}
	e, err := record.NewEngineWindow(p)
	if err != nil {
		t.Fatal(err)
	}
	parts.Engine = e
	if change != nil {
		change(&parts)
	}
	l, err := record.NewLevel(parts)
	if err != nil {
		t.Fatal(err)
	}
	m, err := record.NewMeasurements(recordtest.Workload(), []record.Level{l})
	if err != nil {
		t.Fatal(err)
	}
	perf, err := record.NewPerfRecord(id, proof(t), model, m)
	if err != nil {
		t.Fatal(err)
	}
	return perf
}

func near(t *testing.T, what string, got, want float64, ok bool) {
	t.Helper()
	if !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %v (known %v), want %v", what, got, ok, want)
	}
}

// The engine's timers give the rates of the definitions' vector: nominal 92,888/s, computed
// 2,508/s, decode 50.00/s.
func TestEngineRatesAreTheVector(t *testing.T) {
	t.Parallel()
	f := perfWith(t, 12, vector(12), nil).Levels()[0].Engine
	for what, c := range map[string]struct {
		rate record.Rate
		want float64
	}{"nominal": {f.PrefillNominal, 92_888}, "computed": {f.PrefillComputed, 2_508}, "decode": {f.Decode, 50}} {
		v, ok := c.rate.PerSecond()
		near(t, what, v, c.want, ok)
	}
	hits, ok := f.CacheHits.Of()
	near(t, "cache hits", hits, 90380.0/92888, ok)
	for what, c := range map[string]struct {
		mean record.Estimate
		want time.Duration
	}{"queue": {f.Queue, 100 * time.Millisecond}, "prefill": {f.Prefill, time.Second}, "TTFT": {f.TTFT, 1100 * time.Millisecond}, "E2E": {f.E2E, 9080 * time.Millisecond}, "gap": {f.TokenGap, 20 * time.Millisecond}} {
		if v, ok := c.mean.Value(); !ok || v != c.want {
			t.Errorf("%s: %v, want %v", what, c.mean, c.want)
		}
	}
	if n, ok := f.Preempted.N(); !ok || n != 0 || f.FirstToo || f.Source != "vllm" {
		t.Errorf("%+v", f)
	}
	if _, ok := f.Acceptance.Of(); ok || f.Acceptance.Withheld() != "vllm does not tell of drafted tokens" {
		t.Errorf("acceptance of nothing: %v", f.Acceptance)
	}
	for _, c := range f.Agreement {
		if c.Accord != record.Agrees {
			t.Errorf("%s: %s, %s", c.What, c.Accord, c.Words)
		}
	}
}

// llama.cpp counts no requests: the first tokens are among those decoded, and that is said.
func TestEngineRatesWithoutRequests(t *testing.T) {
	t.Parallel()
	p := record.EngineParts{Source: "llama.cpp", Computed: gates.CountOf(1000), Output: gates.CountOf(800), Prefill: record.EngineTimer{Sum: gates.SpanOf(4 * time.Second)}, Decode: record.EngineTimer{Sum: gates.SpanOf(16 * time.Second)}, Drafted: gates.CountOf(200), Accepted: gates.CountOf(150)}
	f := perfWith(t, 2, p, nil).Levels()[0].Engine
	v, ok := f.PrefillComputed.PerSecond()
	near(t, "computed", v, 250, ok)
	v, ok = f.Decode.PerSecond()
	near(t, "decode", v, 50, ok && f.FirstToo)
	v, ok = f.Acceptance.Of()
	near(t, "acceptance", v, .75, ok)
	if _, ok := f.PrefillNominal.PerSecond(); ok || f.PrefillNominal.Withheld() == "" {
		t.Errorf("nominal without a count: %v", f.PrefillNominal)
	}
	if _, ok := f.CacheHits.Of(); ok || f.CacheHits.Withheld() == "" {
		t.Errorf("hits without a count: %v", f.CacheHits)
	}
	// SGLang has no timer of decode; the times between tokens are one.
	p = record.EngineParts{Source: "sglang", Output: gates.CountOf(800), Gap: timed(16*time.Second, 798)}
	v, ok = perfWith(t, 2, p, nil).Levels()[0].Engine.Decode.PerSecond()
	near(t, "decode by gaps", v, 49.875, ok)
}

func TestEngineFiguresAreWithheldWithReasons(t *testing.T) {
	t.Parallel()
	lost := perfWith(t, 2, record.EngineParts{Source: "vllm", Lost: "it was started anew"}, nil).Levels()[0].Engine
	if why := lost.Decode.Withheld(); why != "it was started anew" {
		t.Errorf("lost: %q", why)
	}
	void := perfWith(t, 2, vector(2), func(p *record.LevelParts) { p.Void = []string{"garbage"} }).Levels()[0].Engine
	for _, why := range []string{void.Decode.Withheld(), void.PrefillComputed.Withheld(), void.TTFT.Withheld(), void.CacheHits.Withheld(), void.Preempted.Withheld(), void.Device.JoulesPerToken.Withheld()} {
		if why != "the level is void: garbage" {
			t.Errorf("void: %q", why)
		}
	}
	_, model := recordtest.Measurements(2)
	none := perfWith(t, 2, vector(2), func(p *record.LevelParts) { p.Engine = record.EngineWindow{} }).Levels()[0].Engine
	if why := none.Decode.Withheld(); why != "nobody looked at the engine's counters" || model.IsZero() {
		t.Errorf("none: %q", why)
	}
}

func TestEnergyIsOfTheRecordAlone(t *testing.T) {
	t.Parallel()
	p := vector(2)
	p.Device = record.DeviceParts{By: "nvidia-smi", Devices: 1, Millijoules: gates.CountOf(4_000_000), For: gates.SpanOf(20 * time.Second), NoMemory: "unified memory: there is no VRAM"}
	p.Device.Milliwatts.See(100_000)
	p.Device.Milliwatts.See(300_000)
	d := perfWith(t, 2, p, nil).Levels()[0].Engine.Device
	v, ok := d.Watts.V() // 4000 J in 20 s
	near(t, "watts", v, 200, ok)
	v, ok = d.MaxWatts.V()
	near(t, "most watts", v, 300, ok)
	v, ok = d.JoulesPerToken.V() // over 800 tokens
	near(t, "joules per token", v, 5, ok)
	if _, ok := d.MemoryBytes.N(); ok || d.MemoryBytes.Withheld() != "unified memory: there is no VRAM" {
		t.Errorf("memory: %v", d.MemoryBytes)
	}
	uncounted := perfWith(t, 2, p, func(l *record.LevelParts) { l.RatesWithheld = "nobody counted the tokens" }).Levels()[0].Engine.Device
	if _, ok := uncounted.JoulesPerToken.V(); ok || uncounted.JoulesPerToken.Withheld() != "nobody counted the tokens" {
		t.Errorf("energy of tokens that nobody counted: %+v", uncounted.JoulesPerToken)
	}
}

func TestEngineWindowHasNoMouth(t *testing.T) {
	t.Parallel()
	e, err := record.NewEngineWindow(vector(2))
	if err != nil {
		t.Fatal(err)
	}
	var ungated *record.UngatedResultError
	if _, err := json.Marshal(e); !errors.As(err, &ungated) {
		t.Errorf("Marshal: %v", err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if text := fmt.Sprintf(verb, e); text != "engine window (ungated)" {
			t.Errorf("%s prints %q", verb, text)
		}
	}
}

func TestEngineWindowRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*record.EngineParts){
		"nobody":            func(p *record.EngineParts) { p.Source = "" },
		"lost and not":      func(p *record.EngineParts) { p.Lost = "gone" },
		"a gauge of less":   func(p *record.EngineParts) { p.Running = record.Gauge{N: 2, Sum: 9, Max: 3} },
		"a gauge of none":   func(p *record.EngineParts) { p.Waiting = record.Gauge{Sum: 1, Max: 1} },
		"below 0":           func(p *record.EngineParts) { p.Waiting = record.Gauge{N: -1} },
		"devices of nobody": func(p *record.EngineParts) { p.Device.Devices = 1 },
		"devices lost":      func(p *record.EngineParts) { p.Device = record.DeviceParts{By: "x", Lost: "y", Devices: 1} },
		"two memories": func(p *record.EngineParts) {
			p.Device = record.DeviceParts{By: "x", MemoryBytes: gates.CountOf(1), NoMemory: "y"}
		},
	} {
		p := vector(2)
		change(&p)
		if e, err := record.NewEngineWindow(p); err == nil || !e.IsZero() {
			t.Errorf("%s: made one", name)
		}
	}
}

// What is written is read back the same, to the byte; what this version does not write is
// refused.
func TestEngineWindowIsWrittenBothWays(t *testing.T) {
	t.Parallel()
	full := vector(3)
	full.Batched = true
	full.Running.See(3)
	full.Waiting.See(0)
	full.KVPermille.See(17)
	full.Device = record.DeviceParts{By: "DCGM exporter", Devices: 2, Millijoules: gates.CountOf(5), For: gates.SpanOf(time.Second), MemoryBytes: gates.CountOf(1 << 30)}
	for name, p := range map[string]record.EngineParts{"full": full, "lost": {Source: "llama.cpp", Lost: "no page"}, "little": {Source: "generic", Output: gates.CountOf(0)}} {
		perf := perfWith(t, 3, p, func(l *record.LevelParts) {
			l.Samples[0].EngineQueue, l.Samples[0].EnginePrefill = gates.SpanOf(0), gates.SpanOf(time.Second)
		})
		b, err := json.Marshal(perf)
		if err != nil {
			t.Fatal(err)
		}
		var again record.PerfRecord
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c, err := json.Marshal(again); err != nil || string(c) != string(b) {
			t.Errorf("%s: %v\n was %s\n is  %s", name, err, b, c)
		}
		if got, want := again.Levels()[0].Engine.Source, p.Source; got != want {
			t.Errorf("%s: source %q", name, got)
		}
	}
	b, err := json.Marshal(perfWith(t, 3, full, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"source":"vllm"`, `"source":"vllm","vram":7`},
		{`"source":"vllm"`, `"source":""`},
		{`"output_tokens":1200,"finished"`, `"output_tokens":-1,"finished"`},
		{`"output_tokens":1200,"finished"`, `"output_tokens":1e3,"finished"`},
		{`"lost"`, `"Lost"`},
		{`"running":{"n":1`, `"running":{"n":0`},
	} {
		bad := strings.Replace(string(b), c[0], c[1], 1)
		var p record.PerfRecord
		if err := json.Unmarshal([]byte(bad), &p); bad != string(b) && err == nil {
			t.Errorf("%s is read", c[1])
		}
	}
	// A level without an account is written as it always was.
	none, err := json.Marshal(perfWith(t, 3, full, func(l *record.LevelParts) { l.Engine = record.EngineWindow{} }))
	if err != nil || strings.Contains(string(none), `"engine":{"source"`) {
		t.Errorf("%v, %s", err, none)
	}
}

// Nothing that decodes is nonsense, and what decodes is written again as it was.
func FuzzEngineWindow(f *testing.F) {
	f.Add(`{"source":"vllm","output_tokens":5,"queue":{"sum_ns":5,"n":2},"running":{"n":2,"sum":5,"max":3}}`)
	f.Add(`{"source":"vllm","lost":"gone"}`)
	f.Add(`{"source":"x","device":{"by":"y","devices":1,"milliwatts":{"n":1,"sum":5,"max":5}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := record.DecodeEngine([]byte(text))
		if err != nil {
			if !e.IsZero() {
				t.Error("an error and a window at once")
			}
			return
		}
		b, err := record.EncodeEngine(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := record.DecodeEngine(b)
		if err != nil {
			t.Fatalf("%s is not read back: %v", b, err)
		}
		if c, _ := record.EncodeEngine(again); string(c) != string(b) {
			t.Errorf("%s became %s", b, c)
		}
	})
}
