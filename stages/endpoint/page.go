package endpoint

import (
	"bytes"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"infbench/gates"
)

// metricsPage is a page of metrics by its families.
type metricsPage map[string]*dto.MetricFamily

// count adds up the first of the named metrics that is there.
func (p metricsPage) count(names ...string) gates.Count {
	for _, name := range names {
		if c := total(p, name, "", ""); c != (gates.Count{}) {
			return c
		}
	}
	return gates.Count{}
}

// share reads the first of the named gauges that is there and lies between 0 and 1, in
// thousandths: of several engines that of the fullest.
func (p metricsPage) share(names ...string) gates.Count {
	for _, name := range names {
		if v, ok := largest(p, name); ok && v >= 0 && v <= 1 {
			return gates.CountOf(int(math.Round(1000 * v)))
		}
	}
	return gates.Count{}
}

// timer reads the first of the named histograms of seconds that is there.
func (p metricsPage) timer(names ...string) Timer {
	for _, name := range names {
		if t := p.histogram(name, "", ""); t != (Timer{}) {
			return t
		}
	}
	return Timer{}
}

// seconds reads a counter of seconds, which does not say how many times it adds up.
func (p metricsPage) seconds(name string) Timer { return Timer{Sum: p.sum(name)} }

// histogram adds up a histogram over its label sets, those that hold label=value where a
// label is given. A page without TYPE lines has its sum and count as metrics of their own.
func (p metricsPage) histogram(name, label, value string) Timer {
	f := p[name]
	if f == nil && label == "" {
		return Timer{Sum: p.sum(name + "_sum"), N: p.count(name + "_count")}
	}
	sum, n, seen := 0.0, uint64(0), false
	for _, m := range f.GetMetric() {
		if label != "" && !holds(m, label, value) {
			continue
		}
		switch {
		case m.Histogram != nil:
			sum, n, seen = sum+m.Histogram.GetSampleSum(), n+m.Histogram.GetSampleCount(), true
		case m.Summary != nil:
			sum, n, seen = sum+m.Summary.GetSampleSum(), n+m.Summary.GetSampleCount(), true
		}
	}
	if !seen {
		return Timer{}
	}
	return Timer{Sum: span(sum), N: whole(float64(n))}
}

func (p metricsPage) sum(name string) gates.Span {
	sum, seen := 0.0, false
	for _, m := range p[name].GetMetric() {
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		seen = true
	}
	if !seen {
		return gates.Span{}
	}
	return span(sum)
}

// without leaves out the samples whose label is there and is not the value: each rank of a
// parallel engine counts the same tokens.
func (p metricsPage) without(label, value string) metricsPage {
	out := metricsPage{}
	for name, f := range p {
		kept := slices.DeleteFunc(slices.Clone(f.GetMetric()), func(m *dto.Metric) bool {
			return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == label && l.GetValue() != value })
		})
		if len(kept) > 0 {
			out[name] = &dto.MetricFamily{Name: f.Name, Type: f.Type, Metric: kept}
		}
	}
	return out
}

// longestSum bounds a sum of times: what fits into a Duration, some 285 years. A thousand
// streams take three months for it.
const longestSum = 9e9

// span is a sum of seconds, absent for what is none.
func span(seconds float64) gates.Span {
	if !(seconds >= 0 && seconds <= longestSum) { // NaN is neither
		return gates.Span{}
	}
	return gates.SpanOf(time.Duration(math.Round(seconds * float64(time.Second))))
}

// whole is a count, absent for what is none.
func whole(n float64) gates.Count {
	if !(n >= 0 && n <= 1e15) { // NaN is neither
		return gates.Count{}
	}
	return gates.CountOf(int(n))
}

// only returns the lines of a page that are samples of the named metrics: reading a page of
// thousands of lines while something is measured would disturb it.
func only(page []byte, names []string) []byte {
	var out []byte
	for line := range bytes.Lines(page) {
		name := line
		if end := bytes.IndexAny(line, "{ \t\r\n"); end >= 0 {
			name = line[:end]
		}
		if slices.ContainsFunc(names, func(n string) bool { return n == string(name) }) {
			out = append(out, line...)
		}
	}
	return out
}
