package arrival_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/arrival"
)

func value(t *testing.T, what string, s arrival.Statistic, want, within float64) {
	t.Helper()
	if v, ok := s.Value(); !ok || math.Abs(v-want) > within {
		t.Errorf("%s: got %v (%s), want %v ± %v", what, v, s, want, within)
	}
}

// By hand: ten windows of a second with 2 0 2 0 … requests. The counts have mean 1 and
// variance 10/9; the gaps are 0 and 2 s in turns, and the last start closes the last window.
func TestGapsByHand(t *testing.T) {
	t.Parallel()
	var starts []time.Duration
	for i := range 6 {
		starts = append(starts, time.Hour+time.Duration(2*i)*time.Second, time.Hour+time.Duration(2*i)*time.Second)
	}
	slices.Reverse(starts)
	before := slices.Clone(starts)
	g := arrival.GapsOf(starts)
	if !slices.Equal(starts, before) {
		t.Error("the argument was changed")
	}
	value(t, "rate", g.RequestsPerSecond, 1.1, 1e-6)              // 11 gaps in 10 s
	value(t, "CV", g.GapCV, math.Sqrt(120.0/110)/(10.0/11), 1e-6) // 6 zeros and 5 twos: mean 10/11, sum of squares 20 − 100/11 = 120/11, over 10
	value(t, "dispersion", g.Dispersion1s, 10.0/9, 1e-6)
	for s, want := range map[arrival.Statistic]string{g.Dispersion10s: "1 windows of 10s, want 10", g.Dispersion60s: "0 windows of 1m0s, want 10"} {
		if _, ok := s.Value(); ok || s.Withheld() != want {
			t.Errorf("got %s, want it withheld: %s", s, want)
		}
	}
}

func TestGapsOfFew(t *testing.T) {
	t.Parallel()
	for _, starts := range [][]time.Duration{nil, {}, {time.Second}} {
		if g := arrival.GapsOf(starts); g != (arrival.GapStatistics{}) {
			t.Errorf("%v: %+v", starts, g)
		}
	}
	at := arrival.GapsOf(make([]time.Duration, 16))
	if at.Starts != 16 || at.RequestsPerSecond.Withheld() != "all requests start at one instant" || at.GapCV.Withheld() == "" {
		t.Errorf("a burst: %+v", at)
	}
	two := arrival.GapsOf([]time.Duration{0, 500 * time.Millisecond})
	value(t, "rate of two", two.RequestsPerSecond, 2, 0)
	if two.GapCV.Withheld() != "1 gaps, want 10" {
		t.Errorf("CV of one gap: %s", two.GapCV)
	}
	if wide := arrival.GapsOf([]time.Duration{math.MinInt64, math.MaxInt64}); wide.Starts != 2 {
		t.Errorf("a span that no Duration holds: %+v", wide)
	}
}

// An even stream has no dispersion, and the sparsest of all costs no memory.
func TestGapsOfEvenStreams(t *testing.T) {
	t.Parallel()
	var even, sparse []time.Duration
	for i := range 2000 {
		even = append(even, time.Duration(i)*100*time.Millisecond)
		sparse = append(sparse, time.Duration(i)*(1000*time.Hour))
	}
	g := arrival.GapsOf(even)
	value(t, "CV", g.GapCV, 0, 1e-6)
	value(t, "1 s", g.Dispersion1s, 0, 1e-9)
	value(t, "10 s", g.Dispersion10s, 0, 1e-9)
	value(t, "1 s of the sparse", arrival.GapsOf(sparse).Dispersion1s, 1, 1e-3)
}

func TestGapStatisticsJSON(t *testing.T) {
	t.Parallel()
	g := arrival.GapsOf([]time.Duration{0, 500 * time.Millisecond})
	b, err := json.Marshal(g)
	want := `{"starts":2,"requests_per_second":{"value":2},"gap_cv":{"value":null,"withheld":"1 gaps, want 10"},` +
		`"dispersion_1s":{"value":null,"withheld":"0 windows of 1s, want 10"},"dispersion_10s":{"value":null,"withheld":"0 windows of 10s, want 10"},` +
		`"dispersion_60s":{"value":null,"withheld":"0 windows of 1m0s, want 10"}}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v", b, err)
	}
	for _, g := range []arrival.GapStatistics{g, {}} {
		b, err := json.Marshal(g)
		var back arrival.GapStatistics
		if err != nil || json.Unmarshal(b, &back) != nil || back != g {
			t.Errorf("%s came back as %+v, %v", b, back, err)
		}
	}
	for _, bad := range []string{`{"value":1,"withheld":"x"}`, `{"value":-1}`, `{"value":"1"}`, `{"val":1}`, `1`} {
		var s arrival.Statistic
		if json.Unmarshal([]byte(bad), &s) == nil {
			t.Errorf("%s is read as %s", bad, s)
		}
	}
}

// The two public traces, as far as they are there: computed elsewhere from the same files.
func TestTraces(t *testing.T) {
	t.Parallel()
	root := os.Getenv("INFBENCH_TRACES")
	if root == "" {
		t.Skip("INFBENCH_TRACES names no folder with azure_2023_conv.csv and mooncake_conversation.jsonl; excerpts are read by TestExcerpts")
	}
	for file, want := range map[string][6]float64{ // requests, rate, CV, dispersion
		"azure_2023_conv.csv":         {19366, 5.5301, 1.094, 1.386, 3.868, 16.411},
		"mooncake_conversation.jsonl": {12031, 3.4012, 3.034, 7.900, 2.105, 2.946},
	} {
		m, err := arrival.Parse("replay:mode=open,file=" + filepath.Join(root, file))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(m.String(), fmt.Sprintf("of %.0f requests", want[0])) {
			t.Errorf("%s: %s", file, m)
		}
		g := arrival.GapsOf(due(t, m, arrival.Stop{}, 0))
		for i, s := range []arrival.Statistic{g.RequestsPerSecond, g.GapCV, g.Dispersion1s, g.Dispersion10s, g.Dispersion60s} {
			value(t, fmt.Sprint(file, " ", i), s, want[i+1], 6e-4)
		}
	}
}
