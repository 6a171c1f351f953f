package arrival_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"infbench/arrival"
)

// rank is the nearest-rank percentile.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

type summary struct {
	n             int
	p90, p95, p99 time.Duration
	max           time.Duration
	mean          float64
}

func summarise(d []time.Duration) summary {
	slices.Sort(d)
	sum := 0.0
	for _, x := range d {
		sum += x.Seconds()
	}
	return summary{len(d), rank(d, 90), rank(d, 95), rank(d, 99), d[len(d)-1], math.Round(sum/float64(len(d))*1e6) / 1e6}
}

// Coordinated omission, with figures computed elsewhere: 100 requests a second for ten
// seconds at a server that takes 1 ms and one request at a time, and that answers the request
// begun in the sixth second at 6.001 s. Counted from the due times the stall has 112 victims;
// counted from when each was begun, one.
func TestCoordinatedOmission(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	served := func(begin time.Duration) time.Duration {
		if begin >= 5*time.Second && begin < 6*time.Second {
			return 6001 * ms
		}
		return begin + ms
	}
	var fromDue, fromBegin []time.Duration
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var free time.Duration
		zero := time.Now().Add(10 * ms) // when the first request is due
		_, n, err := arrival.Drive(t.Context(), must(t)(arrival.Constant(100)), arrival.Stop{Requests: 1000}, func(_ context.Context, s arrival.Slot) {
			mu.Lock()
			begin := max(free, time.Since(zero))
			free = served(begin)
			done := zero.Add(free)
			fromBegin = append(fromBegin, free-begin)
			mu.Unlock()
			time.Sleep(time.Until(done))
			mu.Lock()
			fromDue = append(fromDue, time.Since(s.Due))
			mu.Unlock()
		})
		if n != 1000 || err != nil {
			t.Errorf("started %d, %v", n, err)
		}
	})
	affected := 0
	for _, d := range fromDue {
		if d > ms {
			affected++
		}
	}
	if got, want := summarise(fromDue), (summary{1000, 101 * ms, 551 * ms, 911 * ms, 1001 * ms, 0.057056}); got != want || affected != 112 {
		t.Errorf("from the due time: got %+v and %d affected, want %+v and 112", got, affected, want)
	}
	if got, want := summarise(fromBegin), (summary{1000, ms, ms, ms, 1001 * ms, 0.002}); got != want {
		t.Errorf("from the begin of service: got %+v, want %+v", got, want)
	}
	// What a sender does that waits for its answer and leaves out what it missed.
	var skipping, mended []time.Duration
	for at := time.Duration(0); at < 10*time.Second; {
		took := served(at) - at
		skipping = append(skipping, took)
		mended = append(mended, took)
		for missed := took - 10*ms; missed >= 10*ms; missed -= 10 * ms { // HdrHistogram's repair
			mended = append(mended, missed)
		}
		at += max(10*ms, (took+10*ms-1)/(10*ms)*(10*ms))
	}
	if got := summarise(skipping); got.n != 900 || got.p90 != ms || got.p95 != ms || got.p99 != ms || got.max != 1001*ms {
		t.Errorf("a sender that skips: %+v", got)
	}
	if got := summarise(mended); got.n != 999 || got.p95 != 511*ms || got.p99 != 911*ms || got.mean != 0.051551 {
		t.Errorf("the same, mended: %+v", got)
	}
}

// A think time counts from the last byte, not from when the answer had been looked at.
func TestThinkCountsFromTheLastByte(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	synctest.Test(t, func(t *testing.T) {
		m := must(t)(arrival.SessionsOf(1, thinks(t)["constant"], arrival.StartAtOnce(), "s"))
		origin := time.Now()
		_, _, err := arrival.Drive(t.Context(), m, arrival.Stop{Requests: 4}, func(_ context.Context, s arrival.Slot) {
			got = append(got, s.Due.Sub(origin))
			time.Sleep(time.Second)
			switch s.Turn {
			case 0: // nothing is said: do's return counts
			case 1:
				s.Received(time.Now())
			case 2:
				s.Received(time.Now().Add(time.Hour)) // nonsense is not believed
			}
			time.Sleep(time.Second)
		})
		if err != nil {
			t.Error(err)
		}
	})
	if want := []time.Duration{0, 6 * time.Second, 11 * time.Second, 17 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("due at %v, want %v", got, want)
	}
}

// A slow answer changes no draw: what is thought is the same after quick answers and slow.
func TestSlowAnswersChangeNoDraw(t *testing.T) {
	t.Parallel()
	m := must(t)(arrival.SessionsOf(1, thinks(t)["lognormal"], arrival.StartAtOnce(), "s"))
	quick, slow := due(t, m, arrival.Stop{Requests: 20}, 0), due(t, m, arrival.Stop{Requests: 20}, time.Hour)
	for i := range quick {
		if got := slow[i] - time.Duration(i)*time.Hour; got != quick[i] {
			t.Errorf("request %d: %v after its hours, %v without", i, got, quick[i])
		}
	}
}

func TestStartRules(t *testing.T) {
	t.Parallel()
	const n = 4
	first := func(think arrival.Think, start arrival.Start) []time.Duration {
		out := make([]time.Duration, n)
		synctest.Test(t, func(t *testing.T) {
			origin := time.Now()
			m := must(t)(arrival.SessionsOf(n, think, start, "s"))
			_, _, err := arrival.Drive(t.Context(), m, arrival.Stop{After: 24 * time.Hour, Requests: 50}, func(_ context.Context, s arrival.Slot) {
				if s.Turn == 0 {
					out[s.Session] = s.Due.Sub(origin)
				}
				time.Sleep(30 * time.Hour) // one request each
			})
			if err != nil {
				t.Error(err)
			}
		})
		return out
	}
	s := time.Second
	laws := thinks(t)
	for name, c := range map[string]struct{ got, want []time.Duration }{
		"at once":                     {first(laws["lognormal"], arrival.StartAtOnce()), []time.Duration{0, 0, 0, 0}},
		"none given, no think time":   {first(laws["none"], arrival.Start{}), []time.Duration{0, 0, 0, 0}},
		"staggered over a minute":     {first(laws["none"], arrival.StaggeredStart(time.Minute)), []time.Duration{0, 15 * s, 30 * s, 45 * s}},
		"staggered over one think":    {first(laws["constant"], arrival.StaggeredStart(0)), []time.Duration{0, s, 2 * s, 3 * s}},
		"none given, with think time": {first(laws["constant"], arrival.Start{}), first(laws["constant"], arrival.StationaryStart())},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: first due at %v, want %v", name, c.got, c.want)
		}
	}
	for _, d := range first(laws["constant"], arrival.StationaryStart()) {
		if d <= 0 || d >= 4*s {
			t.Errorf("the rest of a constant think time of 4 s is %v", d)
		}
	}
}

// A stationary population with answers at once asks N/Z times a second from the first moment
// on; all at once it asks N times in the first. The bounds are 4σ of the sum over sessions,
// with the variance that the sessions show.
func TestStationaryFromTheFirstMoment(t *testing.T) {
	t.Parallel()
	const n = 2000
	count := func(think arrival.Think, start arrival.Start) (total, sigma float64) {
		counts := make([]float64, n)
		synctest.Test(t, func(t *testing.T) {
			m := must(t)(arrival.SessionsOf(n, think, start, "s"))
			_, _, err := arrival.Drive(t.Context(), m, arrival.Stop{After: think.Mean() / 4}, func(_ context.Context, s arrival.Slot) { counts[s.Session]++ })
			if err != nil {
				t.Error(err)
			}
		})
		squares := 0.0
		for _, c := range counts {
			total += c
			squares += c * c
		}
		return total, math.Sqrt(squares - total*total/n)
	}
	for name, think := range thinks(t) {
		if think.IsZero() {
			continue
		}
		if total, sigma := count(think, arrival.StationaryStart()); math.Abs(total-n/4) > 4*sigma {
			t.Errorf("%s: %.0f requests in a quarter of a think time, want %d ± %.0f", name, total, n/4, 4*sigma)
		}
		if total, _ := count(think, arrival.StartAtOnce()); total < n {
			t.Errorf("%s, all at once: %.0f requests, want at least %d", name, total, n)
		}
	}
}

func TestReplayIsDriven(t *testing.T) {
	t.Parallel()
	s := time.Second
	open := must(t)(arrival.Replay([]time.Duration{10 * s, 10 * s, 11 * s, 13 * s}, 0.5))
	if got, want := due(t, open, arrival.Stop{}, time.Hour), []time.Duration{0, 0, s / 2, 3 * s / 2}; !slices.Equal(got, want) {
		t.Errorf("open: due at %v, want %v", got, want)
	}
	closed := must(t)(arrival.ReplaySessions([][]time.Duration{{0, 2 * s, s}, {5 * s}}, 2))
	if got, want := due(t, closed, arrival.Stop{}, 10*s), []time.Duration{0, 10 * s, 14 * s, 26 * s}; !slices.Equal(got, want) {
		t.Errorf("closed: due at %v, want %v", got, want)
	}
	if !open.Open() || closed.Open() || closed.Sessions() != 2 || open.Requests() != 0 {
		t.Error("open and closed are mixed up")
	}
	for _, bad := range []func() (arrival.ArrivalModel, error){
		func() (arrival.ArrivalModel, error) { return arrival.Replay(nil, 1) },
		func() (arrival.ArrivalModel, error) { return arrival.Replay([]time.Duration{s, 0}, 1) },
		func() (arrival.ArrivalModel, error) { return arrival.Replay(make([]time.Duration, 100_001), 1) },
		func() (arrival.ArrivalModel, error) { return arrival.Replay([]time.Duration{0, 20_000 * time.Hour}, 1) },
		func() (arrival.ArrivalModel, error) { return arrival.Replay([]time.Duration{0, 20 * time.Hour}, 1000) },
		func() (arrival.ArrivalModel, error) { return arrival.Replay([]time.Duration{0}, math.NaN()) },
		func() (arrival.ArrivalModel, error) { return arrival.ReplaySessions(nil, 1) },
		func() (arrival.ArrivalModel, error) { return arrival.ReplaySessions([][]time.Duration{{s}, {}}, 1) },
		func() (arrival.ArrivalModel, error) { return arrival.ReplaySessions([][]time.Duration{{-s}}, 1) },
	} {
		if m, err := bad(); err == nil || !m.IsZero() {
			t.Errorf("a bad replay is %s", m)
		}
	}
}

// On the real clock: a request is late, if anything, never early.
func TestNeverEarly(t *testing.T) {
	t.Parallel()
	_, n, err := arrival.Drive(t.Context(), must(t)(arrival.Poisson(500, "s")), arrival.Stop{Requests: 50}, func(_ context.Context, s arrival.Slot) {
		if early := time.Until(s.Due); early > 0 {
			t.Errorf("request %d starts %v before it is due", s.N, early)
		}
	})
	if n != 50 || err != nil {
		t.Errorf("started %d, %v", n, err)
	}
}

// The goroutine of the next request is made before it is due, and is not left behind when
// the run ends before.
func TestStoppedWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, n, err := arrival.Drive(ctx, must(t)(arrival.Constant(1)), arrival.Stop{Requests: 10}, func(context.Context, arrival.Slot) {})
		if took := time.Since(began); n != 2 || err != nil || took != 2500*time.Millisecond {
			t.Errorf("started %d in %v, %v; want 2 in 2.5s", n, took, err)
		}
	})
}
