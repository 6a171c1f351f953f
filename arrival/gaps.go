package arrival

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// minWindows is the number of windows, and of gaps, below which nothing is said of their
// spread: of 10 counts the variance is uncertain by half already (√(2/(n−1))).
const minWindows = 10

// GapStatistics says how requests really came. The zero value is that of fewer than two
// requests.
//
// The coefficient of variation of the gaps is 0 for an even stream and 1 for a Poisson
// process, but it does not see a rate that drifts. The index of dispersion does: it is the
// variance of the counts in windows of one length over their mean, 1 for a Poisson process
// at every length, and rising with the length where the rate drifts.
type GapStatistics struct {
	Starts int `json:"starts"`
	// RequestsPerSecond is the realised rate: (n−1) over the time from the first to the
	// last start.
	RequestsPerSecond Statistic `json:"requests_per_second"`
	// GapCV is the standard deviation of the gaps over their mean.
	GapCV Statistic `json:"gap_cv"`
	// The indices of dispersion of counts, with windows from the first start on; a last
	// window that is not full is left out.
	Dispersion1s  Statistic `json:"dispersion_1s"`
	Dispersion10s Statistic `json:"dispersion_10s"`
	Dispersion60s Statistic `json:"dispersion_60s"`
}

// GapsOf returns the statistics of the times at which requests started, in any order.
// Variances are divided by n−1.
func GapsOf(starts []time.Duration) GapStatistics {
	n := len(starts)
	if n < 2 {
		return GapStatistics{}
	}
	at := slices.Sorted(slices.Values(starts))
	first := at[0]
	for i := range at {
		at[i] -= first
	}
	last := at[n-1]
	if last <= 0 { // less than 0: a span that no Duration holds
		no := withheld("all requests start at one instant")
		return GapStatistics{n, no, no, no, no, no}
	}
	return GapStatistics{
		Starts: n, RequestsPerSecond: statistic(float64(n-1) / last.Seconds()), GapCV: gapCV(at),
		Dispersion1s: dispersion(at, time.Second), Dispersion10s: dispersion(at, 10*time.Second), Dispersion60s: dispersion(at, time.Minute),
	}
}

func gapCV(at []time.Duration) Statistic {
	gaps := len(at) - 1
	if gaps < minWindows {
		return withheld(fmt.Sprintf("%d gaps, want %d", gaps, minWindows))
	}
	mean := at[gaps].Seconds() / float64(gaps)
	sum := 0.0
	for i := range gaps {
		d := (at[i+1] - at[i]).Seconds() - mean
		sum += d * d
	}
	return statistic(math.Sqrt(sum/float64(gaps-1)) / mean)
}

// dispersion never makes the windows: those without a start count in their number alone.
func dispersion(at []time.Duration, window time.Duration) Statistic {
	windows := int64(at[len(at)-1] / window)
	if windows < minWindows {
		return withheld(fmt.Sprintf("%d windows of %v, want %d", windows, window, minWindows))
	}
	var counts, squares float64
	for i := 0; i < len(at); {
		in, j := at[i]/window, i
		for j < len(at) && at[j]/window == in {
			j++
		}
		if int64(in) < windows {
			counts += float64(j - i)
			squares += float64(j-i) * float64(j-i)
		}
		i = j
	}
	mean := counts / float64(windows)
	return statistic(max(0, squares-counts*mean) / float64(windows-1) / mean) // rounding can leave less than 0
}

// Statistic is a number, or the reason why the sample cannot carry it. The zero Statistic
// is withheld without one.
type Statistic struct {
	value float64
	known bool
	why   string
}

// statistic rounds to a millionth: processors differ in the last bits of a sum of products,
// and a record is read on others than it was written on.
func statistic(v float64) Statistic { return Statistic{value: math.Round(v*1e6) / 1e6, known: true} }

func withheld(why string) Statistic { return Statistic{why: why} }

// Value returns the number; ok is false when it is withheld.
func (s Statistic) Value() (v float64, ok bool) { return s.value, s.known }

// Withheld returns why there is no number, "" when there is one.
func (s Statistic) Withheld() string {
	if !s.known && s.why == "" {
		return "fewer than 2 requests"
	}
	return s.why
}

func (s Statistic) String() string {
	if !s.known {
		return "— (" + s.Withheld() + ")"
	}
	return fmt.Sprintf("%.3g", s.value)
}

// statisticWire is the JSON: one of the two.
type statisticWire struct {
	Value    *float64 `json:"value"`
	Withheld string   `json:"withheld,omitempty"`
}

// MarshalJSON writes the value, or null and the reason.
func (s Statistic) MarshalJSON() ([]byte, error) {
	if s.known {
		return json.Marshal(statisticWire{Value: &s.value})
	}
	return json.Marshal(statisticWire{Withheld: s.why})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Statistic) UnmarshalJSON(b []byte) error {
	var w statisticWire
	if err := strict(b, &w); err != nil {
		return err
	}
	switch {
	case w.Value != nil && w.Withheld != "":
		return errors.New("a value that is withheld too")
	case w.Value != nil && *w.Value < 0:
		return fmt.Errorf("a statistic of %v", *w.Value)
	case w.Value != nil:
		*s = statistic(*w.Value)
	default:
		*s = withheld(w.Withheld)
	}
	return nil
}
