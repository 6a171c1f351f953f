package record_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"infbench/record"
	"infbench/record/recordtest"
)

func TestInteractivityScore(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ ttft, tpot, want float64 }{
		{.2, .010, 100},
		{.5, .020, 76.72},
		{1, .025, 63.92},
		{2, .050, 43.63},
		{5, .030, 33.50},
		{.1, .050, 68.03},
		{10, .2, 0},
		{0, 0, 100},
		{.2, .2, 0},
		{100, .010, 0}, // nothing buys a dead dimension back
	} {
		got := record.InteractivityScore(time.Duration(v.ttft*1e9), time.Duration(v.tpot*1e9))
		if math.Abs(got-v.want) > .005 {
			t.Errorf("%v s and %v s: %.3f, want %v", v.ttft, v.tpot, got, v.want)
		}
	}
}

// 100 samples have a p99, 299 a bound of it: the greatest.
func TestInteractivity(t *testing.T) {
	t.Parallel()
	of := func(n int, void ...string) record.Interactivity {
		p := recordtest.Requests(recordtest.Sessions(1), n, func(i int, s *record.Sample) { s.First = s.Sent + time.Duration(i+1)*time.Millisecond })
		p.Void = void
		return recordtest.Sweep(id, record.Objectives{}, p).Interactivity()[0]
	}
	if i := of(99); i.TTFT.P99.String() != "— (n=99, p99 needs 100)" || i.TTFT.Upper != i.TTFT.P99 || i.Score.String() != "— (TTFT: n=99, p99 needs 100)" {
		t.Errorf("%+v", i)
	}
	i := of(100)
	if v, ok := i.TTFT.P99.Value(); !ok || v != 99*time.Millisecond || i.TTFT.Upper.Withheld() != "n=100, a bound of p99 needs 299" {
		t.Errorf("%+v", i)
	}
	// p99 of the times per token is (2.5 s - 2 ms)/100: the second of them from the top.
	if v, ok := i.Score.Value(); !ok || math.Abs(v-record.InteractivityScore(99*time.Millisecond, 24_980*time.Microsecond)) > .005 {
		t.Errorf("%+v", i.Score)
	}
	i = of(299)
	if v, ok := i.TTFT.Upper.Value(); !ok || v != 299*time.Millisecond {
		t.Errorf("%+v", i)
	}
	if v, ok := i.TTFT.P99.Value(); !ok || v != 297*time.Millisecond {
		t.Errorf("%+v", i)
	}
	if i := of(299, "late_dispatch"); !strings.Contains(i.Score.Withheld(), "void") || !strings.Contains(i.TTFT.Upper.Withheld(), "void") {
		t.Errorf("%+v", i)
	}
}
