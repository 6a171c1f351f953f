package endpoint

import (
	"context"
	"errors"
	"fmt"

	"infbench/gates"
)

// Meter is what an engine's metrics page has added up since the engine started, and its load
// at one instant. Absent is unknown, not 0. Two of them make a window: see [Meter.Until].
type Meter struct {
	// Prompt counts all prompt tokens, Computed those that were not cached, Cached those that
	// were, whatever the engine's own counter includes.
	Prompt, Computed, Cached gates.Count
	// CacheQueries and CacheHits count tokens that were looked up in the prefix cache and found.
	CacheQueries, CacheHits gates.Count
	// Output counts generated tokens, Finished requests that ended in any way, Preempted
	// requests that were thrown out of a batch.
	Output, Finished, Preempted gates.Count
	// Drafted and Accepted count tokens of speculative decoding.
	Drafted, Accepted gates.Count
	// Queue runs to the first step of a request, Prefill from there to its first token, Decode
	// from there to its last; TTFT and E2E from its arrival at the engine. Gap is the time
	// between tokens.
	Queue, Prefill, Decode, TTFT, Gap, E2E Timer
	// Batched says that Prefill adds up the time of batches and not that of requests: two
	// prompts computed together count once.
	Batched bool
	// Running and Waiting count requests, KVPermille is the KV cache in use, in thousandths.
	Running, Waiting, KVPermille gates.Count
	// Process marks the server process by its start, "" where the page does not show it.
	Process string
}

// Timer is a sum of times and how many there were.
type Timer struct {
	Sum gates.Span
	N   gates.Count
}

// Clocked is implemented by engines whose metrics page is known.
type Clocked interface {
	Meter(context.Context) (Meter, error)
}

// ErrNoMeter says that the engine shows no counters and timers.
var ErrNoMeter = errors.New("the engine shows no page of metrics that is known")

// Meter reads the engine's counters and timers. The error says why nothing can be read: it
// wraps [ErrNoMeter] where the engine answers and has no such page.
func (e Endpoint) Meter(ctx context.Context) (Meter, error) {
	c, ok := e.engine.(Clocked)
	if !ok {
		return Meter{}, ErrNoMeter
	}
	m, err := c.Meter(ctx)
	var f *Failure
	switch {
	case errors.As(err, &f) && f.Status != 0:
		return Meter{}, fmt.Errorf("%w (status %d)", ErrNoMeter, f.Status)
	case err != nil:
		return Meter{}, err
	case m.empty():
		return Meter{}, ErrNoMeter
	}
	return m, nil
}

// Moved is how far a meter moved in a window. Where Lost says why nothing is known of the
// window all counts and times are absent. The load is that of the window's end.
type Moved struct {
	Meter
	Lost string
}

// Until returns the differences from this reading to a later one. What one of them lacks is
// absent. A counter that fell, or another process, means that the engine was started anew in
// between: then nothing is known.
func (m Meter) Until(after Meter) Moved {
	lost := func(format string, a ...any) Moved { return Moved{Lost: fmt.Sprintf(format, a...)} }
	if m.Process != after.Process {
		return lost("the engine was started anew, or another one answered: it %s at first and %s in the end", orUnsaid(m.Process), orUnsaid(after.Process))
	}
	d := after
	d.Batched = m.Batched && after.Batched
	was, is := m.counts(), d.counts()
	for i, c := range is {
		a, okA := was[i].at.N()
		b, okB := c.at.N()
		switch {
		case !okA || !okB:
			*c.at = gates.Count{}
		case b < a:
			return lost("the engine was started anew, or another one answered: its counter of %s fell", c.name)
		default:
			*c.at = gates.CountOf(b - a)
		}
	}
	wasTimes, isTimes := m.times(), d.times()
	for i, t := range isTimes {
		a, okA := wasTimes[i].at.D()
		b, okB := t.at.D()
		switch {
		case !okA || !okB:
			*t.at = gates.Span{}
		case b < a:
			return lost("the engine was started anew, or another one answered: its sum of %s fell", t.name)
		default:
			*t.at = gates.SpanOf(b - a)
		}
	}
	if m.Batched != after.Batched { // two definitions in one difference
		d.Prefill = Timer{}
	}
	return Moved{Meter: d}
}

func orUnsaid(process string) string {
	if process == "" {
		return "did not say when it started"
	}
	return gates.Printable(process, 60)
}

type namedCount struct {
	name string
	at   *gates.Count
}

type namedTime struct {
	name string
	at   *gates.Span
}

// counts lists the counters, in one order for all meters.
func (m *Meter) counts() []namedCount {
	return []namedCount{
		{"prompt tokens", &m.Prompt},
		{"computed tokens", &m.Computed},
		{"cached tokens", &m.Cached},
		{"cache queries", &m.CacheQueries},
		{"cache hits", &m.CacheHits},
		{"output tokens", &m.Output},
		{"finished requests", &m.Finished},
		{"preemptions", &m.Preempted},
		{"drafted tokens", &m.Drafted},
		{"accepted tokens", &m.Accepted},
		{"queue times", &m.Queue.N},
		{"prefill times", &m.Prefill.N},
		{"decode times", &m.Decode.N},
		{"times to the first token", &m.TTFT.N},
		{"times between tokens", &m.Gap.N},
		{"end-to-end times", &m.E2E.N},
	}
}

// times lists the sums of times, in one order for all meters.
func (m *Meter) times() []namedTime {
	return []namedTime{
		{"queue times", &m.Queue.Sum},
		{"prefill times", &m.Prefill.Sum},
		{"decode times", &m.Decode.Sum},
		{"times to the first token", &m.TTFT.Sum},
		{"times between tokens", &m.Gap.Sum},
		{"end-to-end times", &m.E2E.Sum},
	}
}

// empty reports whether nothing that adds up is known.
func (m Meter) empty() bool {
	for _, c := range m.counts() {
		if _, ok := c.at.N(); ok {
			return false
		}
	}
	for _, t := range m.times() {
		if _, ok := t.at.D(); ok {
			return false
		}
	}
	return true
}

// Load is what an engine has to do at one instant. Absent is unknown.
type Load struct{ Running, Waiting, KVPermille gates.Count }

// Load reads the engine's load from its page of metrics. Only the lines of it are parsed, so
// that it can be read while something is measured.
func (e Endpoint) Load(ctx context.Context) (Load, error) {
	g, err := e.Gauges(ctx)
	return Load{g.Running, g.Waiting, g.KVPermille}, err
}
