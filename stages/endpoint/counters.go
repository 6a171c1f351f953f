package endpoint

import (
	"context"

	dto "github.com/prometheus/client_model/go"

	"infbench/gates"
)

// Counters are what an engine has counted since it started, and its load right now.
// Absent is unknown. ComputedPrompt leaves cached tokens out whatever the engine's own
// counter does: vLLM's and SGLang's include them, llama.cpp's does not.
type Counters struct {
	ComputedPrompt, CachedPrompt, Output gates.Count
	Running, Waiting                     gates.Count
}

// Metered is implemented by engines whose counters can be read. The counters of a
// request may move only when it has finished.
type Metered interface {
	Counters(context.Context) (Counters, error)
}

// Counters asks the engine for its counters; all are absent where it has none.
func (e Endpoint) Counters(ctx context.Context) (Counters, error) {
	if m, ok := e.engine.(Metered); ok {
		return m.Counters(ctx)
	}
	return Counters{}, nil
}

// scrape reads a path of metrics anew; the remembered page is for recognising only.
func (s *surface) scrape(ctx context.Context, path string) (map[string]*dto.MetricFamily, error) {
	_, body, err := s.client.get(ctx, path)
	if err != nil {
		return nil, err
	}
	return families(body), nil
}

// total adds up a metric over its label sets. Only those that hold the label
// name=value count where one is given.
func total(families map[string]*dto.MetricFamily, name, label, value string) gates.Count {
	f := families[name]
	if f == nil {
		return gates.Count{}
	}
	sum, seen := 0.0, false
	for _, m := range f.Metric {
		if label != "" && !holds(m, label, value) {
			continue
		}
		seen = true
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
	}
	if !seen {
		return gates.Count{}
	}
	return whole(sum)
}

func holds(m *dto.Metric, label, value string) bool {
	for _, l := range m.Label {
		if l.GetName() == label && l.GetValue() == value {
			return true
		}
	}
	return false
}

// minus returns a-b where both are known.
func minus(a, b gates.Count) gates.Count {
	x, okX := a.N()
	y, okY := b.N()
	if !okX || !okY || y > x {
		return gates.Count{}
	}
	return gates.CountOf(x - y)
}

// plus returns a+b where both are known.
func plus(a, b gates.Count) gates.Count {
	x, okX := a.N()
	y, okY := b.N()
	if !okX || !okY {
		return gates.Count{}
	}
	return gates.CountOf(x + y)
}

// either returns a, or b where a is absent.
func either(a, b gates.Count) gates.Count {
	if _, ok := a.N(); ok {
		return a
	}
	return b
}
