package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Estimate is a statistic that the sample may not be able to carry: then it is
// withheld, with the reason. It is written as null and never as 0.
type Estimate struct {
	value    time.Duration
	withheld string
}

// Value returns the statistic; ok is false when the sample cannot carry it.
func (e Estimate) Value() (v time.Duration, ok bool) { return e.value, e.withheld == "" }

// Withheld returns why there is no value, "" when there is one.
func (e Estimate) Withheld() string { return e.withheld }

// String returns the value, or a dash and the reason.
func (e Estimate) String() string {
	if v, ok := e.Value(); ok {
		return v.String()
	}
	return "— (" + e.withheld + ")"
}

type estimateWire struct {
	NS       *int64 `json:"ns"`
	Withheld string `json:"withheld,omitempty"`
}

func (e Estimate) wire() estimateWire {
	if v, ok := e.Value(); ok {
		ns := int64(v)
		return estimateWire{NS: &ns}
	}
	return estimateWire{Withheld: e.withheld}
}

// quantile returns the nearest-rank quantile num/den of sorted values: no
// interpolation, so a p99 is a latency that someone had. It is withheld unless
// n >= 1/(1-q), the least n at which it is not simply the maximum.
func quantile(sorted []time.Duration, num, den int) Estimate {
	need := (den + den - num - 1) / (den - num)
	if n := len(sorted); n < need {
		return Estimate{withheld: fmt.Sprintf("n=%d, p%s needs %d", n, percent(num, den), need)}
	}
	return Estimate{value: nearest(sorted, num, den)}
}

// nearest is the nearest-rank quantile num/den of sorted values; the rank is worked out in
// integers: 0.07*100 is not 7 in floats.
func nearest(sorted []time.Duration, num, den int) time.Duration {
	return sorted[(len(sorted)*num+den-1)/den-1]
}

func percent(num, den int) string {
	return strconv.FormatFloat(100*float64(num)/float64(den), 'g', -1, 64)
}

// Distribution is what is said about one kind of duration over the samples.
type Distribution struct {
	n                  int
	p50, p90, p95, p99 Estimate
	max                Estimate
}

// newDistribution summarises values, or withholds everything for the reason given.
func newDistribution(values []time.Duration, withheld string) Distribution {
	if withheld != "" {
		e := Estimate{withheld: withheld}
		return Distribution{len(values), e, e, e, e, e}
	}
	s := slices.Sorted(slices.Values(values))
	d := Distribution{len(s), quantile(s, 50, 100), quantile(s, 90, 100), quantile(s, 95, 100), quantile(s, 99, 100), Estimate{withheld: "n=0"}}
	if len(s) > 0 {
		d.max = Estimate{value: s[len(s)-1]}
	}
	return d
}

// N returns the number of samples.
func (d Distribution) N() int { return d.n }

// P50 returns the median.
func (d Distribution) P50() Estimate { return d.p50 }

// P90 returns the 90th percentile.
func (d Distribution) P90() Estimate { return d.p90 }

// P95 returns the 95th percentile.
func (d Distribution) P95() Estimate { return d.p95 }

// P99 returns the 99th percentile.
func (d Distribution) P99() Estimate { return d.p99 }

// Max returns the largest value.
func (d Distribution) Max() Estimate { return d.max }

func (d Distribution) wire() distributionWire {
	return distributionWire{d.n, d.p50.wire(), d.p90.wire(), d.p95.wire(), d.p99.wire(), d.max.wire()}
}

// Rate is tokens per second, or withheld with the reason.
type Rate struct {
	perSecond float64
	withheld  string
}

// PerSecond returns the rate; ok is false when it is withheld.
func (r Rate) PerSecond() (v float64, ok bool) { return r.perSecond, r.withheld == "" }

// Withheld returns why there is no rate.
func (r Rate) Withheld() string { return r.withheld }

// String returns the rate in tokens per second, or a dash and the reason.
func (r Rate) String() string {
	if v, ok := r.PerSecond(); ok {
		return strconv.FormatFloat(v, 'f', 1, 64) + " tok/s"
	}
	return "— (" + r.withheld + ")"
}

// medianRate is the nearest-rank median of rates.
func medianRate(rates []float64, withheld string) Rate {
	switch {
	case withheld != "":
		return Rate{withheld: withheld}
	case len(rates) < 2:
		return Rate{withheld: fmt.Sprintf("n=%d, a median needs 2", len(rates))}
	}
	s := slices.SortedFunc(slices.Values(rates), cmp.Compare[float64])
	return Rate{perSecond: s[(len(s)+1)/2-1]}
}

type rateWire struct {
	TokensPerSecond *float64 `json:"tokens_per_second"`
	Withheld        string   `json:"withheld,omitempty"`
}

func (r Rate) wire() rateWire {
	if v, ok := r.PerSecond(); ok {
		return rateWire{TokensPerSecond: &v}
	}
	return rateWire{Withheld: r.withheld}
}

// DecodeRate is what one stream sees while it is answered, with what makes it a
// rate: the KV depth in the middle of the answer and the requests in flight.
type DecodeRate struct {
	Rate
	// DepthTokens is the median depth: prompt tokens plus half the output tokens.
	DepthTokens int
	// InFlight is the mean number of requests in flight.
	InFlight float64
}

// String returns the rate with its depth and company.
func (d DecodeRate) String() string {
	if _, ok := d.PerSecond(); !ok {
		return d.Rate.String()
	}
	return fmt.Sprintf("%s at depth %d, %.1f in flight", d.Rate, d.DepthTokens, d.InFlight)
}

func (d DecodeRate) wire() any {
	return struct {
		rateWire
		DepthTokens int     `json:"kv_depth_tokens"`
		InFlight    float64 `json:"in_flight_mean"`
	}{d.Rate.wire(), d.DepthTokens, d.InFlight}
}

var (
	_ json.Marshaler = Part{}
	_ fmt.Stringer   = Estimate{}
)
