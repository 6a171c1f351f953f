package performance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/record"
)

// calibrate finds out the client's own error under the load of a level before it, once for
// each load. One that could not be found out is said among the caveats.
func (w *work) calibrate(ctx context.Context, m arrival.ArrivalModel) record.Calibration {
	if !w.c.Calibrate || ctx.Err() != nil {
		return record.Calibration{}
	}
	shape := Shape{Arrival: m, Streams: w.streams(m), TTFT: w.ttft, TPOT: w.tpot, OutputTokens: w.c.OutputTokens}
	key := fmt.Sprint(m.Open(), shape.Streams, shape.TPOT)
	if c, ok := w.calibrations[key]; ok {
		return c
	}
	c, err := Calibrate(ctx, shape)
	if err != nil {
		if ctx.Err() == nil {
			w.caveats = append(w.caveats, fmt.Sprintf("the client could not be calibrated for %s: %v", m.Label(), err))
		}
		return record.Calibration{}
	}
	if w.calibrations == nil {
		w.calibrations = map[string]record.Calibration{}
	}
	w.calibrations[key] = c
	return c
}

// streams is how many streams a level has at once, by what a request alone takes in an open
// loop.
func (w *work) streams(m arrival.ArrivalModel) int {
	switch {
	case m.Sessions() > 0:
		return m.Sessions()
	case m.Requests() > 0:
		return m.Requests()
	}
	perSecond := 1.0
	if l, ok := m.Load(); ok {
		perSecond = l.Amount
	}
	return max(1, min(maxStreams, int(perSecond*w.latency.Seconds()+0.5)))
}

// pulse begins to read a stream of known timing beside a level; nil where there is none.
func (w *work) pulse(ctx context.Context) *Pulse {
	if !w.c.Calibrate {
		return nil
	}
	p, err := StartPulse(context.WithoutCancel(ctx))
	if err != nil {
		return nil // what was found out before the level counts then
	}
	return p
}

// ended returns what a pulse saw, the zero calibration where there is nothing.
func (p *Pulse) ended() record.Calibration {
	if p == nil {
		return record.Calibration{}
	}
	c, err := p.Stop()
	if err != nil {
		return record.Calibration{} // no beat was whole: what was found out before counts
	}
	return c
}

// believed lays what the client's own error takes away over a level: gaps that are its own,
// or all figures.
func (w *work) believed(parts *record.LevelParts, before, beside record.Calibration) (void []string) {
	if !w.c.Calibrate {
		return nil
	}
	parts.Calibrations = slices.DeleteFunc([]record.Calibration{before, beside}, record.Calibration.IsZero)
	ttft, tpot := mediansOf(parts.Samples)
	trust := record.JudgeBoth(before, beside, ttft, tpot)
	if !parts.Arrival.Open() || parts.Arrival.Requests() > 0 {
		trust.LateDispatch = "" // no clock starts these; what lag costs them is judged by its share
	}
	shared, chunks := 0, 0
	for _, s := range parts.Samples {
		shared, chunks = shared+s.Coalesced, chunks+s.Chunks
	}
	trust = trust.And(record.ClientTrust{ITLUntrusted: record.JudgeCoalesced(shared, chunks)})
	if trust.ITLUntrusted != "" {
		parts.ChunkGaps, parts.ChunkGapsWithheld = nil, trust.ITLUntrusted
		parts.TokenGaps, parts.TokenGapsWithheld = nil, trust.ITLUntrusted
	}
	return trust.Void()
}

// mediansOf returns the median TTFT from sending and TPOT of the good samples.
func mediansOf(samples []record.Sample) (ttft, tpot time.Duration) {
	var a, b []time.Duration
	for _, s := range samples {
		if s.Outcome != record.OK || s.Warmup {
			continue
		}
		a = append(a, s.First-s.Sent)
		if s.OutputTokens > 1 {
			b = append(b, (s.Last-s.First)/time.Duration(s.OutputTokens-1))
		}
	}
	middle := func(d []time.Duration) time.Duration {
		if len(d) == 0 {
			return 0
		}
		slices.Sort(d)
		return d[(len(d)-1)/2]
	}
	return middle(a), middle(b)
}
