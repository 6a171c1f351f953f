package performance

import (
	"testing"
	"time"

	"infbench/arrival"
	"infbench/record"
)

// queueOf plays requests due each gap through one server that takes so long for each, first
// come first served: by Lindley's recursion, not by a clock.
func queueOf(n int, gap, service time.Duration) []record.Sample {
	var out []record.Sample
	free := time.Duration(0)
	for i := range n {
		due := time.Duration(i+1) * gap
		starts := max(due, free)
		free = starts + service
		out = append(out, record.Sample{Turn: i, Due: due, Sent: due, First: starts + service/2, Last: free, End: free, OutputTokens: 2, Outcome: record.OK})
	}
	return out
}

func TestAnOpenLoopThatIsTooMuch(t *testing.T) {
	t.Parallel()
	m, err := arrival.Constant(100)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		service time.Duration
		n       int
		want    bool
	}{
		"half as fast as asked":   {20 * time.Millisecond, 200, true},
		"a third too slow":        {14 * time.Millisecond, 200, true},
		"just keeps up":           {10 * time.Millisecond, 200, false},
		"well within":             {3 * time.Millisecond, 200, false},
		"too few to tell":         {20 * time.Millisecond, 19, false},
		"long answers in company": {10 * time.Millisecond, 40, false},
	} {
		p := record.LevelParts{Arrival: m, Samples: queueOf(c.n, 10*time.Millisecond, c.service)}
		if why := overrun(p); (why != "") != c.want {
			t.Errorf("%s: %q", name, why)
		}
	}
	burst, err := arrival.Burst(200)
	if err != nil {
		t.Fatal(err)
	}
	if why := overrun(record.LevelParts{Arrival: burst, Samples: queueOf(200, 10*time.Millisecond, 20*time.Millisecond)}); why != "" {
		t.Errorf("a burst: %q", why)
	}
}

func TestSessionsThatOnlyWaitLonger(t *testing.T) {
	t.Parallel()
	level := func(n, tokens int, wait time.Duration) levelResult {
		m, err := arrival.Sessions(n, 0, "s")
		if err != nil {
			t.Fatal(err)
		}
		l := levelResult{arrival: m, issued: 40, good: 40, tokens: tokens, measuredFor: 10 * time.Second}
		for range 40 {
			l.waits = append(l.waits, wait)
		}
		return l
	}
	for name, c := range map[string]struct {
		levels []levelResult
		want   bool
	}{
		"twice the sessions, the same tokens, twice the wait": {[]levelResult{level(4, 1000, time.Second), level(8, 1010, 2*time.Second)}, true},
		"more tokens":          {[]levelResult{level(4, 1000, time.Second), level(8, 1300, 1600*time.Millisecond)}, false},
		"hardly more sessions": {[]levelResult{level(4, 1000, time.Second), level(5, 1000, 1250*time.Millisecond)}, false},
		"one level":            {[]levelResult{level(4, 1000, time.Second)}, false},
	} {
		if why := (&Sweep{levels: c.levels}).enough(); (why != "") != c.want {
			t.Errorf("%s: %q", name, why)
		}
	}
	full := level(8, 100, time.Second)
	full.failed = map[record.Outcome]int{record.Rejected: 30}
	if why := (&Sweep{levels: []levelResult{full}}).enough(); why == "" {
		t.Error("three of four turned away, and more would be tried")
	}
}
