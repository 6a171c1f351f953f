package performance

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"infbench/gates"
	"infbench/internal/refengine"
	"infbench/record"
	"infbench/record/recordtest"
	"infbench/stages/endpoint"
)

// inProcess hands requests to a handler without a network, so that a whole measurement runs
// on virtual time.
type inProcess struct{ h http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	pr, pw := io.Pipe()
	w := &piped{header: http.Header{}, body: pw, begun: make(chan struct{})}
	go func() {
		p.h.ServeHTTP(w, r.Clone(ctx))
		w.WriteHeader(http.StatusOK)
		_ = pw.Close()
	}()
	select {
	case <-w.begun:
	case <-ctx.Done():
		cancel()
		_ = pr.CloseWithError(ctx.Err())
		return nil, ctx.Err()
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: closing{pr, cancel}, Request: r}, nil
}

type piped struct {
	header http.Header
	body   *io.PipeWriter
	begun  chan struct{}
	status int
}

func (w *piped) Header() http.Header { return w.header }
func (w *piped) Flush()              {}

func (w *piped) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		close(w.begun)
	}
}

func (w *piped) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

type closing struct {
	io.Reader
	cancel context.CancelFunc
}

func (c closing) Close() error {
	c.cancel()
	return c.Reader.(io.Closer).Close()
}

// virtual measures one level on an embedded engine in a bubble, and returns the level, when it
// began on the engine's clock, and the engine's own log of its requests.
func virtual(t *testing.T, engine refengine.Config, c Config, level string) (l record.Measured, began time.Duration, truths []refengine.Truth) {
	t.Helper()
	e, err := refengine.New(engine)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	target, err := endpoint.ParseTarget("http://127.0.0.1:1", endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{InFlight: 8, Seed: 1, Transport: inProcess{e}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Measure(t.Context(), ep, proof(t), sweepOf(t, level), c, func(p Progress) {
		if !p.Finished && p.Live.IsZero() {
			began = time.Since(e.Epoch())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.levels) != 1 || s.levels[0].void != nil {
		t.Fatalf("%d levels, void for %v", len(s.levels), s.levels[0].void)
	}
	truths = e.Truths()
	slices.SortFunc(truths, func(a, b refengine.Truth) int { return int(a.Arrival - b.Arrival) })
	return perfOf(t, s).Levels()[0], began, truths[len(truths)-s.levels[0].issued:] // what came before are the probes
}

// What the window says is what the engine's log says: times to the first token, queue,
// prefill, decode, tokens and load. Two requests fit into a batch and four sessions ask, so
// that there is a queue; the clock is virtual, so that both are exact.
func TestTheWindowIsTheTruth(t *testing.T) {
	t.Parallel()
	for name, level := range map[string]string{"alone": "sessions:n=1,think=30ms", "in company": "sessions:n=4,think=70ms"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := quick()
				c.PerLevel = 3 * time.Second
				l, began, truths := virtual(t, refengine.Config{MaxRunning: 2, RequestMetrics: true, Version: "test"}, c, level)
				f := l.Engine
				var queue, prefill, ttft, decode, e2e time.Duration
				computed, prompt, cached, after := 0, 0, 0, 0
				for _, r := range truths {
					queue, ttft, decode, e2e = queue+r.Queue, ttft+r.FirstDue-r.Arrival, decode+r.LastToken-r.FirstDue, e2e+r.LastToken-r.Arrival
					prefill += r.FirstDue - r.Arrival - r.Queue
					prompt, cached, after = prompt+r.PromptTokens, cached+r.CachedTokens, after+r.OutputTokens-1
				}
				computed = prompt - cached
				n := time.Duration(len(truths))
				for what, c := range map[string]struct {
					got  record.Estimate
					want time.Duration
				}{"queue": {f.Queue, queue / n}, "prefill": {f.Prefill, prefill / n}, "TTFT": {f.TTFT, ttft / n}, "E2E": {f.E2E, e2e / n}} {
					if v, ok := c.got.Value(); !ok || v-c.want < -time.Microsecond || v-c.want > time.Microsecond { // sums of floats
						t.Errorf("%s: %v, the log has %v", what, c.got, c.want)
					}
				}
				for what, c := range map[string]struct {
					got  record.Rate
					want float64
				}{
					"computed": {f.PrefillComputed, float64(computed) / prefill.Seconds()}, "nominal": {f.PrefillNominal, float64(prompt) / prefill.Seconds()},
					"decode": {f.Decode, float64(after) / decode.Seconds()},
				} {
					if v, ok := c.got.PerSecond(); !ok || math.Abs(v-c.want) > 1e-6*c.want {
						t.Errorf("%s: %v, the log has %v", what, c.got, c.want)
					}
				}
				if share, ok := f.CacheHits.Of(); !ok || share != float64(cached)/float64(prompt) {
					t.Errorf("cache hits %v, the log has %d of %d", f.CacheHits, cached, prompt)
				}
				for _, c := range f.Agreement {
					// Nothing is on the way here: client and engine stamp the same instants.
					if c.Accord != record.Agrees || strings.Contains(c.What, "time") && strings.HasPrefix(c.Words, "within") && !strings.HasPrefix(c.Words, "within 0s") {
						t.Errorf("%s: %s, %s", c.What, c.Accord, c.Words)
					}
				}
				least, most := math.MaxInt, 0
				for _, r := range truths {
					depth := r.PromptTokens + r.OutputTokens/2
					least, most = min(least, depth), max(most, depth)
				}
				if d := l.Figures.Decode.DepthTokens; d < least || d > most {
					t.Errorf("decode at a depth of %d, the log has %d to %d", d, least, most)
				}
				if !slices.ContainsFunc(f.Agreement, func(c record.Comparison) bool { return c.What == "the times of single requests" }) {
					t.Error("the times of single requests were not compared")
				}
				checkLoad(t, f, began, truths)
			})
		})
	}
}

// checkLoad compares what was seen of the load with the log, at the instants of the looks: one
// each half second from the level's beginning on.
func checkLoad(t *testing.T, f record.EngineFigures, began time.Duration, truths []refengine.Truth) {
	t.Helper()
	var running, waiting record.Gauge
	for k := range f.Running.N {
		at := began + time.Duration(k+1)*loadEvery
		runs, waits := 0, 0
		for _, r := range truths {
			switch {
			case at < r.Arrival || at >= r.LastToken:
			case at < r.Arrival+r.Queue:
				waits++
			default:
				runs++
			}
		}
		running.See(runs)
		waiting.See(waits)
	}
	if f.Running.N < 4 || f.Running != running || f.Waiting != waiting {
		t.Errorf("running %+v waiting %+v, the log has %+v %+v", f.Running, f.Waiting, running, waiting)
	}
}

// A scripted page of metrics, one reading after another; the last one stays.
type pages struct {
	texts []string
	read  int
}

func (p *pages) RoundTrip(r *http.Request) (*http.Response, error) {
	status, text := http.StatusNotFound, ""
	switch r.URL.Path {
	case "/v1/models":
		status, text = http.StatusOK, `{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}`
	case "/metrics":
		status, text = http.StatusOK, p.texts[min(p.read, len(p.texts)-1)]
		p.read++
		if text == "gone" {
			return nil, errors.New("connection refused")
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func scripted(t *testing.T, texts ...string) endpoint.Endpoint {
	t.Helper()
	target, err := endpoint.ParseTarget("http://127.0.0.1:1", endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &pages{texts: texts}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{Transport: p})
	if err != nil {
		t.Fatal(err)
	}
	p.read = 0 // what opening read is no part of the script
	return ep
}

// said returns what became of a window, through the only door that there is.
func said(t *testing.T, e record.EngineWindow, samples ...record.Sample) record.EngineFigures {
	t.Helper()
	_, model := recordtest.Measurements(2)
	if samples == nil {
		samples = []record.Sample{recordtest.Sample(0), recordtest.Sample(10 * time.Second)}
	}
	l, err := record.NewLevel(record.LevelParts{Arrival: model, Window: time.Minute, Samples: samples, TokenGapsWithheld: "x", Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	m, err := record.NewMeasurements(recordtest.Workload(), []record.Level{l})
	if err != nil {
		t.Fatal(err)
	}
	perf, err := record.NewPerfRecord(recordtest.Identity("sha256:aa", "x"), proof(t), model, m)
	if err != nil {
		t.Fatal(err)
	}
	return perf.Levels()[0].Engine
}

func TestAWindowThatIsLostSaysWhy(t *testing.T) {
	t.Parallel()
	const one, more = "vllm:generation_tokens_total 100\nvllm:num_preemptions_total 1\n", "vllm:generation_tokens_total 900\nvllm:num_preemptions_total 4\n"
	for name, c := range map[string]struct {
		texts []string
		says  string
	}{
		"all is well":     {[]string{one, more}, ""},
		"restarted":       {[]string{more, one}, "fell"},
		"another process": {[]string{one + "process_start_time_seconds 5\n", more + "process_start_time_seconds 6\n"}, "started anew"},
		"page gone":       {[]string{one, "gone"}, "could not be read again"},
		"no page":         {[]string{"nothing 1\n"}, "no page of metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := startWindow(t.Context(), scripted(t, c.texts...), Devices{})
				f := said(t, w.end(t.Context(), seen{2, 800}))
				n, ok := f.Preempted.N()
				if ok != (c.says == "") || !strings.Contains(f.Preempted.Withheld(), c.says) || ok && n != 3 {
					t.Errorf("%v, want %q", f.Preempted, c.says)
				}
			})
		})
	}
}

// Counters that trail the last answer are waited for; an engine that still works before the
// level is, too.
func TestAWindowWaitsForCounters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ep := scripted(t, "vllm:generation_tokens_total 90\nvllm:num_requests_running 1\n", "vllm:generation_tokens_total 100\nvllm:num_requests_running 0\n",
			"vllm:generation_tokens_total 600\n", "vllm:generation_tokens_total 900\n")
		w := startWindow(t.Context(), ep, Devices{})
		if took := time.Since(began); took != idleEvery {
			t.Errorf("began after %v, want %v", took, idleEvery)
		}
		f := said(t, w.end(t.Context(), seen{2, 800}))
		if took := time.Since(began); took != idleEvery+settleEvery {
			t.Errorf("ended after %v, want %v", took, idleEvery+settleEvery)
		}
		for _, c := range f.Agreement {
			if c.What == "output tokens" && c.Words != "800 told, 800 counted" {
				t.Errorf("%s", c.Words)
			}
		}
	})
}

// The load is looked at twice a second at most, and devices once; a reading that takes long is
// made more seldom.
func TestAWindowLooksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		read := func(context.Context) (DeviceReading, error) {
			looks++
			return DeviceReading{Devices: 2, Milliwatts: gates.CountOf(100_000 * looks), MemoryBytes: gates.CountOf(5 - looks%2)}, nil
		}
		w := startWindow(t.Context(), scripted(t, "vllm:num_requests_running 1\nvllm:generation_tokens_total 1\nvllm:num_requests_waiting 0\n"), Devices{By: "a tool", Read: read})
		began := time.Now()
		pause(t.Context(), 3100*time.Millisecond)
		f := said(t, w.end(t.Context(), seen{}))
		// The idle engine that never was took two seconds of waiting before.
		if f.Running.N != 6 || looks != 5 {
			t.Errorf("%d looks at the load in %v and %d at the devices, want 6 and 5", f.Running.N, time.Since(began), looks)
		}
		// 0 s 100 W, 1 s 200, 2 s 300, 3 s 400, 3.1 s 500: 150+250+350+45 J in 3.1 s.
		if v, ok := f.Device.Watts.V(); !ok || math.Abs(v-795/3.1) > 1e-6 {
			t.Errorf("%v W, want %v", v, 795/3.1)
		}
		if n, _ := f.Device.MemoryBytes.N(); n != 5 || f.Device.Devices != 2 {
			t.Errorf("%+v", f.Device)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		slow := func(context.Context) (DeviceReading, error) {
			looks++
			time.Sleep(100 * time.Millisecond)
			return DeviceReading{}, errors.New("the driver is busy")
		}
		w := startWindow(t.Context(), scripted(t, "vllm:generation_tokens_total 1\n"), Devices{By: "a tool", Read: slow})
		pause(t.Context(), 3*time.Second)
		f := said(t, w.end(t.Context(), seen{}))
		// Once before, once after 1 s, and not again for 50 times what that took; once at the end.
		if looks != 3 || f.Device.Watts.Withheld() != "the driver is busy" {
			t.Errorf("%d looks, %q", looks, f.Device.Watts.Withheld())
		}
	})
}

func TestEnergyByCounterAndByPower(t *testing.T) {
	t.Parallel()
	at := func(s int, mw, mj gates.Count) timedReading {
		return timedReading{time.Unix(int64(s), 0), DeviceReading{Milliwatts: mw, Millijoules: mj}}
	}
	n, none := gates.CountOf, gates.Count{}
	for name, c := range map[string]struct {
		readings []timedReading
		want     gates.Count
	}{
		"a counter":         {[]timedReading{at(0, n(1), n(1000)), at(10, n(1), n(8000))}, n(7000)},
		"a counter fell":    {[]timedReading{at(0, n(1000), n(9000)), at(10, n(3000), n(8000))}, n(20_000)},
		"power":             {[]timedReading{at(0, n(1000), none), at(2, n(3000), none), at(3, n(3000), none)}, n(7000)},
		"one look":          {[]timedReading{at(0, n(1000), none)}, none},
		"a look without it": {[]timedReading{at(0, n(1000), none), at(1, none, none), at(2, n(1000), none)}, none},
	} {
		if got, _ := energy(c.readings); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
