package performance

import (
	"context"
	"math"
	"sync"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// DeviceReading is what the accelerators of the engine's machine draw and hold at one instant,
// all of them together. Absent is unknown.
type DeviceReading struct {
	Devices    int
	Milliwatts gates.Count
	// Millijoules is a counter of energy that only goes up, where there is one.
	Millijoules gates.Count
	MemoryBytes gates.Count
}

// Devices reads the accelerators of the engine's machine. The zero Devices knows of none.
type Devices struct {
	// By is who is asked, such as "nvidia-smi".
	By   string
	Read func(context.Context) (DeviceReading, error)
	// None says why nobody is asked, where Read is nil.
	None string
	// NoMemory says why devices have no memory of their own, "" where they may.
	NoMemory string
}

// How the engine is looked at: seldom enough to cost it nothing. Reading a page takes the
// server some milliseconds in which it streams nothing, so that what reading takes bounds the
// rate too.
const (
	loadEvery    = 500 * time.Millisecond
	loadShare    = 100 // of the time at most a hundredth is spent on reading the load
	deviceEvery  = time.Second
	deviceShare  = 50
	readWithin   = 2 * time.Second
	idleWithin   = 2 * time.Second
	idleEvery    = 100 * time.Millisecond
	settleEvery  = 200 * time.Millisecond
	settleRounds = 5
)

// engineWindow is an engine's account of a level in the making.
type engineWindow struct {
	ep      endpoint.Endpoint
	devices Devices
	before  endpoint.Meter
	lost    string

	stop     context.CancelFunc
	looking  sync.WaitGroup
	load     record.EngineParts // the gauges of it
	power    record.DeviceParts
	readings []timedReading
}

type timedReading struct {
	at time.Time
	DeviceReading
}

// startWindow looks at the engine's counters before a level and begins to look at its load. It
// waits a little for an engine that still has something to do: that would be counted too.
// Whatever it begins [engineWindow.close] ends, which has to be called; [engineWindow.end] does.
func startWindow(ctx context.Context, ep endpoint.Endpoint, devices Devices) *engineWindow {
	w := &engineWindow{ep: ep, devices: devices}
	w.before, w.lost = w.idle(ctx)
	looking, stop := context.WithCancel(ctx)
	w.stop = stop
	if w.lost == "" {
		w.looking.Go(func() { watch(looking, loadEvery, loadShare, func() { w.seeLoad(looking) }) })
	}
	if devices.Read != nil {
		w.readDevices(ctx)
		w.looking.Go(func() { watch(looking, deviceEvery, deviceShare, func() { w.readDevices(looking) }) })
	}
	return w
}

// idle reads the meter once nothing runs, or after a while.
func (w *engineWindow) idle(ctx context.Context) (endpoint.Meter, string) {
	for began := time.Now(); ; {
		m, err := w.meter(ctx)
		if err != nil {
			return m, gates.Printable(err.Error(), 160)
		}
		if m.Running.Or(0)+m.Waiting.Or(0) == 0 || ctx.Err() != nil || time.Since(began) > idleWithin {
			return m, ""
		}
		pause(ctx, idleEvery)
	}
}

func (w *engineWindow) meter(ctx context.Context) (endpoint.Meter, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	return w.ep.Meter(ctx)
}

// watch looks at something until the level is over: each so often, and so seldom that looking
// takes no more than a share of the time.
func watch(ctx context.Context, every time.Duration, share int, look func()) {
	wait := every
	for {
		pause(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		look()
		wait = max(every, time.Duration(share)*time.Since(began))
	}
}

// seeLoad looks at the load once.
func (w *engineWindow) seeLoad(ctx context.Context) {
	l, err := w.readLoad(ctx)
	if err != nil {
		return
	}
	for _, g := range []struct {
		n  gates.Count
		to *record.Gauge
	}{{l.Running, &w.load.Running}, {l.Waiting, &w.load.Waiting}, {l.KVPermille, &w.load.KVPermille}} {
		if n, ok := g.n.N(); ok && n < math.MaxInt32 {
			g.to.See(n)
		}
	}
}

func (w *engineWindow) readLoad(ctx context.Context) (endpoint.Load, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	return w.ep.Load(ctx)
}

// readDevices is called by one goroutine at a time.
func (w *engineWindow) readDevices(ctx context.Context) {
	r, err := w.devices.Read(ctx)
	switch {
	case ctx.Err() != nil: // the level is over: what was not waited for says nothing
	case err != nil:
		w.power.Lost = gates.Printable(err.Error(), 160)
	default:
		w.readings = append(w.readings, timedReading{time.Now(), r})
		if n, ok := r.Milliwatts.N(); ok && n < math.MaxInt32 {
			w.power.Milliwatts.See(n)
		}
	}
}

// close ends what the window began. Closing twice is harmless.
func (w *engineWindow) close() {
	w.stop()
	w.looking.Wait()
}

// seen is what clients saw of a level by its end, so that counters which trail it can be
// waited for.
type seen struct{ requests, outputTokens int }

// seen returns what the level's clients saw, once all of them are done.
func (c *collector) seen() seen {
	var s seen
	for _, k := range c.answers {
		s.outputTokens += k.n
		if k.out != record.Rejected && k.out != record.Unreached {
			s.requests++
		}
	}
	return s
}

// ownTimes are what the engine told of one request.
func ownTimes(t endpoint.EngineTiming) (queue, prefill, decode gates.Span) {
	if t.Prefill > 0 {
		prefill = gates.SpanOf(t.Prefill)
	}
	if t.Decode > 0 {
		decode = gates.SpanOf(t.Decode)
	}
	return t.Queue, prefill, decode
}

// end looks at the counters again and returns what came of the window. Counters may trail the
// last answer by a moment, so ones that are short are read again a few times.
func (w *engineWindow) end(ctx context.Context, clients seen) record.EngineWindow {
	w.close()
	p := record.EngineParts{Source: w.ep.Engine().Name(), Lost: w.lost}
	if w.lost == "" {
		p = w.moved(ctx, clients)
	}
	if p.Lost == "" {
		p.Running, p.Waiting, p.KVPermille = w.load.Running, w.load.Waiting, w.load.KVPermille
	}
	p.Device = w.device(ctx)
	e, err := record.NewEngineWindow(p)
	if err != nil { // an engine that counts like none
		e, _ = record.NewEngineWindow(record.EngineParts{Source: p.Source, Lost: err.Error()})
	}
	return e
}

// moved returns how far the counters moved.
func (w *engineWindow) moved(ctx context.Context, clients seen) record.EngineParts {
	source := w.ep.Engine().Name()
	var d endpoint.Moved
	for i := range settleRounds {
		if i > 0 {
			pause(ctx, settleEvery)
		}
		after, err := w.meter(ctx)
		if err != nil {
			return record.EngineParts{Source: source, Lost: "its counters could not be read again: " + gates.Printable(err.Error(), 160)}
		}
		if d = w.before.Until(after); d.Lost != "" {
			return record.EngineParts{Source: source, Lost: d.Lost}
		}
		finished, counted := d.Finished.N()
		if counted && finished >= clients.requests || !counted && d.Output.Or(clients.outputTokens) >= clients.outputTokens {
			break
		}
	}
	timer := func(t endpoint.Timer) record.EngineTimer { return record.EngineTimer{Sum: t.Sum, N: t.N} }
	return record.EngineParts{
		Source: source, Prompt: d.Prompt, Computed: d.Computed, Cached: d.Cached, CacheQueries: d.CacheQueries, CacheHits: d.CacheHits, Output: d.Output,
		Finished: d.Finished, Preempted: d.Preempted, Drafted: d.Drafted, Accepted: d.Accepted, Batched: d.Batched,
		Queue: timer(d.Queue), Prefill: timer(d.Prefill), Decode: timer(d.Decode), TTFT: timer(d.TTFT), Gap: timer(d.Gap), E2E: timer(d.E2E),
	}
}

// device returns what the accelerators drew and held from the first look to the last.
func (w *engineWindow) device(ctx context.Context) record.DeviceParts {
	if w.devices.Read == nil {
		return record.DeviceParts{Lost: w.devices.None}
	}
	w.readDevices(ctx)
	lost := w.power.Lost
	if len(w.readings) == 0 {
		if lost == "" {
			lost = "it was not read"
		}
		return record.DeviceParts{By: w.devices.By, Lost: lost}
	}
	p := w.power
	p.By, p.Lost, p.Devices, p.NoMemory = w.devices.By, "", w.readings[0].Devices, w.devices.NoMemory
	p.Millijoules, p.For = energy(w.readings)
	for _, r := range w.readings {
		if n, ok := r.MemoryBytes.N(); ok && p.NoMemory == "" {
			p.MemoryBytes = gates.CountOf(max(n, p.MemoryBytes.Or(0)))
		}
	}
	return p
}

// energy is what was drawn between the first reading and the last: the difference of a counter
// where there is one, else the area under the power between readings.
func energy(readings []timedReading) (gates.Count, gates.Span) {
	first, last := readings[0], readings[len(readings)-1]
	span := gates.SpanOf(last.at.Sub(first.at))
	a, okA := first.Millijoules.N()
	b, okB := last.Millijoules.N()
	if okA && okB && b >= a {
		return gates.CountOf(b - a), span
	}
	sum := 0.0
	for i := 1; i < len(readings); i++ {
		p, okP := readings[i-1].Milliwatts.N()
		q, okQ := readings[i].Milliwatts.N()
		if !okP || !okQ {
			return gates.Count{}, gates.Span{}
		}
		sum += float64(p+q) / 2 * readings[i].at.Sub(readings[i-1].at).Seconds()
	}
	if len(readings) < 2 {
		return gates.Count{}, gates.Span{}
	}
	return gates.CountOf(int(math.Round(sum))), span
}
