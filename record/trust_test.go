package record

import (
	"strings"
	"testing"
	"time"

	"infbench/gates"
)

func ms(values ...int) []time.Duration {
	var out []time.Duration
	for _, v := range values {
		out = append(out, time.Duration(v)*time.Millisecond)
	}
	return out
}

func TestBlocksThatDisagree(t *testing.T) {
	t.Parallel()
	a, b := ms(100, 102, 101, 99, 103), ms(101, 100, 104, 102, 99)
	for name, c := range map[string]struct {
		blocks [][]time.Duration
		grow   bool
		want   string
		words  string
	}{
		// The medians are 101, 101 and 111: 10 apart, where a block's range is 4.
		"one block is off":       {[][]time.Duration{a, b, ms(110, 112, 109, 111, 113)}, false, Untrusted, "10ms apart, the values within a block 4ms"},
		"three alike":            {[][]time.Duration{a, b, a}, false, Agree, "3 blocks agree"},
		"a clock that is coarse": {[][]time.Duration{ms(1, 1, 1, 1, 1), ms(2, 2, 2, 2, 2)}, false, Untrusted, "1ms apart"},
		"rising":                 {[][]time.Duration{ms(1, 20, 21, 22, 23), ms(3, 24, 25, 26, 27), ms(4, 28, 29, 30, 31)}, false, Drifting, "TTFT rises"},
		"rising with prompts":    {[][]time.Duration{ms(1, 20, 21, 22, 23), ms(3, 24, 25, 26, 27), ms(4, 28, 29, 30, 31)}, true, Agree, ""},
		"too few":                {[][]time.Duration{a, b[:4]}, false, "", "block 2 of 2 has 4 good requests"},
		"one block":              {[][]time.Duration{a}, false, "", "one block"},
	} {
		got := trustOf("TTFT", c.blocks, c.grow)
		if got.Verdict != c.want || !strings.Contains(got.Why, c.words) {
			t.Errorf("%s: %q, %s", name, got.Verdict, got.Why)
		}
	}
}

// From ten values a block the interquartile range is what the medians are held against.
func TestWideTailsDoNotHideADisagreement(t *testing.T) {
	t.Parallel()
	low, high := ms(10, 10, 11, 11, 12, 12, 13, 13, 14, 90), ms(20, 20, 21, 21, 22, 22, 23, 23, 24, 90)
	if got := trustOf("TPOT", [][]time.Duration{low, high, low}, false); got.Verdict != Untrusted {
		t.Errorf("%q, %s", got.Verdict, got.Why)
	}
}

func TestInFlightFromTheEndOfTheWarmUp(t *testing.T) {
	t.Parallel()
	s := func(from, to int) Sample {
		return Sample{Sent: time.Duration(from) * time.Second, End: time.Duration(to) * time.Second}
	}
	samples := []Sample{s(0, 4), s(1, 3), s(3, 6), s(8, 9)}
	// By hand: of the 9 seconds 2 hold none, 4 one, 3 two; from the third second on 2, 3 and 1.
	if mean, _, peak := inFlight(samples, 0, 9*time.Second); mean != 10./9 || peak != 2 {
		t.Errorf("whole: mean %v, peak %d", mean, peak)
	}
	if mean, _, peak := inFlight(samples, 3*time.Second, 9*time.Second); mean != 5./6 || peak != 2 {
		t.Errorf("from 3 s: mean %v, peak %d", mean, peak)
	}
}

// Times that grow with the prompts, and with nothing else, are no disagreement.
func TestPromptsThatGrow(t *testing.T) {
	t.Parallel()
	var good []Sample
	for i := range 15 {
		tpot := time.Duration(2000+20*i+i%3) * time.Microsecond
		good = append(good, Sample{Block: i / 5, PromptTokens: gates.CountOf(1000 * i), OutputTokens: 11, Last: 10 * tpot, Outcome: OK})
	}
	size := func(s Sample) int { return s.PromptTokens.Or(0) }
	if got := trustOf("TPOT", blocksOf(good, tpot), true); got.Verdict != Untrusted {
		t.Errorf("as they are: %q", got.Verdict)
	}
	if got := trustOf("TPOT", blocksOf(good, levelled(good, tpot, size)), true); got.Verdict != Agree {
		t.Errorf("levelled: %q, %s", got.Verdict, got.Why)
	}
}
