package record_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"infbench/arrival"
	"infbench/record"
	"infbench/record/recordtest"
)

func tier(t testing.TB, name string) record.Tier {
	t.Helper()
	tier, ok := record.NamedTier(name)
	if !ok {
		t.Fatalf("no tier %s", name)
	}
	return tier
}

// one holds one level of n requests to a tier.
func one(t testing.TB, name string, p record.LevelParts) record.Attainment {
	t.Helper()
	return recordtest.Sweep(id, record.Objectives{Codes: true}, p).Against(tier(t, name)).Levels[0]
}

func slow(s *record.Sample) {
	s.First, s.FirstAnswer = s.Sent+1100*time.Millisecond, s.Sent+1100*time.Millisecond
}
func halting(s *record.Sample) { s.MaxGap = 1500 * time.Millisecond }
func dragging(s *record.Sample) {
	s.Last = s.First + 100*30*time.Millisecond // 30 ms a token
	s.End = s.Last
}

func outcome(o record.Outcome) func(*record.Sample) { return func(s *record.Sample) { s.Outcome = o } }

// some spoils the first n requests.
func some(n int, spoil func(*record.Sample)) func(int, *record.Sample) {
	return func(i int, s *record.Sample) {
		if i < n {
			spoil(s)
		}
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		n, bad int
		want   record.Standing
	}{
		{1, 1, record.TooFew},
		{99, 0, record.TooFew},
		{100, 0, record.Holds},
		{100, 1, record.Holds},
		{100, 2, record.Fails},
		{298, 0, record.Holds},
		{299, 0, record.HoldsSurely},
		{472, 1, record.Holds},
		{473, 1, record.HoldsSurely},
		{1000, 3, record.HoldsSurely},
		{1000, 5, record.Holds},
		{1000, 10, record.Holds},
		{1000, 11, record.Fails},
	} {
		a := one(t, "good", recordtest.Requests(recordtest.Sessions(1), v.n, some(v.bad, slow)))
		if good, ok := a.Good.N(); a.Standing != v.want || a.Issued != v.n || !ok || good != v.n-v.bad || a.Why != "" {
			t.Errorf("%d of %d bad: %+v, want %q", v.bad, v.n, a, v.want)
		}
	}
	if a := one(t, "good", recordtest.Requests(recordtest.Sessions(1), 300, some(1, slow))); a.Lower != .984285 {
		t.Errorf("the bound of 299 of 300 is %v, want 0.984285", a.Lower)
	}
}

// 1000 requests, of which 8 miss only TTFT and 8 others only TPOT: MLPerf's rule is met, with
// 99.2 % in each of two percentiles, and ours is not, with 98.4 % of requests.
func TestTwoPercentilesAreNotEachRequest(t *testing.T) {
	t.Parallel()
	late := func(s *record.Sample) { s.First, s.Last = s.Sent+2200*time.Millisecond, s.Sent+2600*time.Millisecond }
	dragging := func(s *record.Sample) { s.Last = s.First + 100*201*time.Millisecond; s.End = s.Last }
	a := one(t, "mlperf:llama2-70b/server", recordtest.Requests(recordtest.Sessions(1), 1000, func(i int, s *record.Sample) {
		switch {
		case i < 8:
			late(s)
		case i < 16:
			dragging(s)
		}
	}))
	if good, _ := a.Good.N(); a.Standing != record.Fails || good != 984 || a.Missed != (record.Missed{TTFT: 8, TPOT: 8}) {
		t.Errorf("each request: %+v", a)
	}
	p := a.Published
	if p == nil || p.Standing != record.Holds || p.TTFT.Over != 8 || p.TPOT.Over != 8 || p.TTFT.Requests != 1000 {
		t.Fatalf("two percentiles: %+v", p)
	}
	// Early stopping: 459 queries for none over, 662 for one, 1157 for four.
	for over, needed := range map[int]int{0: 459, 1: 662, 4: 1157} {
		a := one(t, "mlperf:llama2-70b/server", recordtest.Requests(recordtest.Sessions(1), 700, some(over, late)))
		want := record.HoldsSurely
		if needed > 700 {
			want = record.Holds
		}
		if p := a.Published; p.TTFT.Needed != needed || p.Standing != want {
			t.Errorf("%d over of 700: %+v, want %d and %q", over, p, needed, want)
		}
	}
	if a := one(t, "good", recordtest.Requests(recordtest.Sessions(1), 100, nil)); a.Published != nil {
		t.Error("a tier of ours has another rule")
	}
	if a := one(t, "mlperf:llama2-70b/server", recordtest.Requests(recordtest.Sessions(1), 200, some(3, outcome(record.TimedOut)))); a.Published.Standing != record.Fails || a.Published.TPOT.Over != 3 {
		t.Errorf("timeouts are over both limits: %+v", a.Published)
	}
}

func TestWhatIsMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*record.Sample)
		want  record.Missed
	}{
		"TTFT":            {slow, record.Missed{TTFT: 1}},
		"TPOT":            {dragging, record.Missed{TPOT: 1}},
		"a gap":           {halting, record.Missed{Gap: 1}},
		"all three":       {func(s *record.Sample) { slow(s); dragging(s); halting(s) }, record.Missed{TTFT: 1, TPOT: 1, Gap: 1}},
		"turned away":     {outcome(record.Rejected), record.Missed{Failed: 1}},
		"timed out":       {outcome(record.TimedOut), record.Missed{Failed: 1}},
		"cut":             {outcome(record.Cut), record.Missed{Failed: 1}},
		"an HTTP error":   {outcome(record.HTTPError), record.Missed{Failed: 1}},
		"a server error":  {outcome(record.ServerSaid), record.Missed{Failed: 1}},
		"no connection":   {outcome(record.Unreached), record.Missed{Failed: 1}},
		"empty":           {outcome(record.Empty), record.Missed{Wrong: 1}},
		"degenerate":      {outcome(record.Degenerate), record.Missed{Wrong: 1}},
		"wrong":           {outcome(record.Wrong), record.Missed{Wrong: 1}},
		"a lost code":     {func(s *record.Sample) { s.Code = record.CodeMissing }, record.Missed{Wrong: 1}},
		"no code asked":   {func(s *record.Sample) { s.Code = record.CodeUnasked }, record.Missed{}},
		"exactly in time": {func(s *record.Sample) { s.First = s.Sent + time.Second; s.MaxGap = time.Second }, record.Missed{}},
		"one token":       {func(s *record.Sample) { s.OutputTokens = 1 }, record.Missed{}},
		"two slow tokens": {func(s *record.Sample) { s.OutputTokens = 2 }, record.Missed{TPOT: 1}},
	} {
		a := one(t, "good", recordtest.Requests(recordtest.Sessions(1), 100, some(1, c.spoil)))
		if bad := c.want != (record.Missed{}); a.Missed != c.want || (a.Good.Or(-1) == 99) != bad || a.Issued != 100 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// A code that the model does not give back alone either is not held against the server.
	p := recordtest.Requests(recordtest.Sessions(1), 100, some(50, func(s *record.Sample) { s.Code = record.CodeMissing }))
	if a := recordtest.Sweep(id, record.Objectives{}, p).Against(tier(t, "good")).Levels[0]; a.Standing != record.Holds {
		t.Errorf("a model that holds no codes: %+v", a)
	}
}

// TTFT counts from the due time where a clock starts requests, from sending in a closed loop.
func TestTTFTBeginsWhenItWasDue(t *testing.T) {
	t.Parallel()
	open, err := arrival.Constant(1)
	if err != nil {
		t.Fatal(err)
	}
	waits := func(_ int, s *record.Sample) { s.Due -= min(s.Due, 600*time.Millisecond) } // and 500 ms after sending
	if a := one(t, "good", recordtest.Requests(open, 100, waits)); a.Missed.TTFT != 99 {
		t.Errorf("open loop: %+v", a)
	}
	if a := one(t, "good", recordtest.Requests(recordtest.Sessions(1), 100, waits)); a.Missed.TTFT != 0 {
		t.Errorf("closed loop: %+v", a)
	}
}

func TestWhatIsNotJudged(t *testing.T) {
	t.Parallel()
	level := func(bad int, o record.Outcome) record.LevelParts {
		return recordtest.Requests(recordtest.Sessions(1), 200, some(bad, outcome(o)))
	}
	void := func(p record.LevelParts) record.LevelParts { p.Void = []string{"late_dispatch"}; return p }
	saturated := func(p record.LevelParts) record.LevelParts { p.Saturated = "a queue"; return p }
	poisson, err := arrival.Poisson(2, "test")
	if err != nil {
		t.Fatal(err)
	}
	uncounted := func(p record.LevelParts) record.LevelParts {
		p.RatesWithheld = "nobody counted the tokens"
		return p
	}
	for name, c := range map[string]struct {
		parts record.LevelParts
		want  record.Standing
		why   string
	}{
		"void":                              {void(level(0, record.OK)), record.Unjudged, "void: late_dispatch"},
		"void, and slow":                    {void(recordtest.Requests(recordtest.Sessions(1), 200, some(200, slow))), record.Unjudged, "void: late_dispatch"},
		"void, and one of 200 failed":       {void(level(1, record.TimedOut)), record.Unjudged, "void"},
		"more than it can take":             {saturated(recordtest.Requests(poisson, 200, nil)), record.Fails, "more than the server can take: a queue"},
		"more than it can take, and void":   {saturated(void(recordtest.Requests(poisson, 200, nil))), record.Unjudged, "void"},
		"void, and too many failed":         {void(level(3, record.TimedOut)), record.Fails, "void"},
		"tokens uncounted":                  {uncounted(level(0, record.OK)), record.Unjudged, "nobody counted"},
		"tokens uncounted, but a late TTFT": {uncounted(recordtest.Requests(recordtest.Sessions(1), 200, some(3, slow))), record.Fails, "nobody counted"},
		"stopped by a person":               {level(3, record.Cancelled), record.Unjudged, "3 of 200 requests were cancelled"},
		"stopped by a person, and too many": {recordtest.Requests(recordtest.Sessions(1), 200, func(i int, s *record.Sample) {
			switch {
			case i < 3:
				s.Outcome = record.Rejected
			case i == 3:
				s.Outcome = record.Cancelled
			}
		}), record.Fails, "cancelled"},
	} {
		a := one(t, "good", c.parts)
		_, _, rate := a.Goodput.PerSecond()
		if _, counted := a.Good.N(); a.Standing != c.want || !strings.Contains(a.Why, c.why) || counted || rate || a.Goodput.Withheld() != a.Why || a.Lower != 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// 120 requests of which 20 are warm-up: the others run from 60 s to 359.6 s. Two of them are
// late, one was turned away: 97 good ones of 101 tokens.
func TestGoodput(t *testing.T) {
	t.Parallel()
	p := recordtest.Requests(recordtest.Sessions(1), 120, func(i int, s *record.Sample) {
		s.Warmup = i < 20
		switch i {
		case 5, 6, 7, 8: // warm-up may be as slow as it likes
			slow(s)
		case 30, 31:
			slow(s)
		case 40:
			s.Outcome = record.Rejected
		}
	})
	a := one(t, "good", p)
	if a.Issued != 100 || a.Good.Or(0) != 97 || a.Missed != (record.Missed{TTFT: 2, Failed: 1}) {
		t.Errorf("%+v", a)
	}
	const window = 119*3 + 2.6 - 20*3
	requests, tokens, ok := a.Goodput.PerSecond()
	hourly, _ := a.Goodput.TokensPerHour()
	for name, v := range map[string][2]float64{"requests": {requests, 97 / window}, "tokens": {tokens, 97 * 101 / window}, "tokens an hour": {hourly, 3600 * 97 * 101 / window}} {
		if !ok || math.Abs(v[0]-v[1]) > 1e-9*v[1] {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
	if got := a.Goodput.String(); got != "0.32 requests/s, 32.7 tok/s" {
		t.Errorf("it prints %q", got)
	}
	// Repeats with a pause between them: the pause is nobody's time. A second that two share
	// is counted once.
	p = recordtest.Requests(recordtest.Sessions(1), 100, func(i int, s *record.Sample) {
		s.Block = i / 50
		if i >= 50 {
			for _, at := range []*time.Duration{&s.Due, &s.Sent, &s.First, &s.FirstAnswer, &s.Last, &s.End} {
				*at += time.Hour
			}
		}
	})
	if requests, _, _ := one(t, "good", p).Goodput.PerSecond(); math.Abs(requests-100/(2*(49*3+2.6))) > 1e-9 {
		t.Errorf("two repeats: %v requests/s", requests)
	}
	p = recordtest.Requests(recordtest.Sessions(1), 100, func(i int, s *record.Sample) { s.Block = i % 2 })
	if requests, _, _ := one(t, "good", p).Goodput.PerSecond(); math.Abs(requests-100/(99*3+2.6)) > 1e-9 {
		t.Errorf("two repeats at once: %v requests/s", requests)
	}
}

// Whatever happened to the requests: none is lost, and a wider tier never holds fewer.
func TestEveryRequestIsCounted(t *testing.T) {
	t.Parallel()
	spoils := []func(*record.Sample){func(*record.Sample) {}, slow, dragging, halting, outcome(record.Rejected), outcome(record.Wrong), func(s *record.Sample) { s.Warmup = true }}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(rt, "n")
		warm, bad := 0, 0
		p := recordtest.Requests(recordtest.Sessions(1), n, func(_ int, s *record.Sample) {
			k := rapid.IntRange(0, len(spoils)-1).Draw(rt, "spoil")
			spoils[k](s)
			switch {
			case s.Warmup:
				warm++
			case k > 0:
				bad++
			}
		})
		good, average := one(t, "good", p), one(t, "average", p)
		if good.Issued != n-warm || good.Good.Or(-1) != n-warm-bad {
			rt.Fatalf("%d issued, %d warm-up, %d bad: %+v", n, warm, bad, good)
		}
		if average.Good.Or(-1) < good.Good.Or(0) {
			rt.Fatalf("average holds %+v, good %+v", average, good)
		}
	})
}
