package replay

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"infbench/internal/evidence"
	"infbench/stages/endpoint"
)

func at(began, ended time.Duration) evidence.Exchange {
	return evidence.Exchange{Began: began, Answer: endpoint.Answer{Timing: endpoint.Timing{Ended: ended - began}}}
}

type span struct{ Began, Ended time.Duration }

// played returns when each exchange ran, given how long each takes now.
func played(t *testing.T, arrange func(context.Context, []evidence.Exchange, func(int)), list []evidence.Exchange, takes []time.Duration) []span {
	t.Helper()
	out := make([]span, len(list))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		arrange(t.Context(), list, func(i int) {
			out[i].Began = time.Since(start)
			time.Sleep(takes[i])
			out[i].Ended = time.Since(start)
		})
	})
	return out
}

// inCompany is how [Run] arranges them.
func inCompany(ctx context.Context, list []evidence.Exchange, do func(int)) {
	paceOf(list).inCompany(ctx, list, do)
}

// What overlapped over hours or days keeps its order, is waited for a minute at most, and
// that is said; what did not overlap is not waited for.
func TestLongGapsAreShortened(t *testing.T) {
	t.Parallel()
	const s, day = time.Second, 24 * time.Hour
	for name, c := range map[string]struct {
		list       []evidence.Exchange
		want, says string
	}{
		"days apart":      {[]evidence.Exchange{at(0, 29*day), at(5*day, 34*day), at(5*day+10*s, 6*day)}, "[{0s 1s} {1m0s 1m1s} {1m10s 1m11s}]", "up to 1m10s of waiting, 1 longer gap shortened to 1m0s; --one-by-one does not wait"},
		"each of three":   {[]evidence.Exchange{at(0, 29*day), at(day, 2*day), at(3*day, 4*day)}, "[{0s 1s} {1m0s 1m1s} {2m0s 2m1s}]", "up to 2m0s of waiting, 2 longer gaps shortened to 1m0s; --one-by-one does not wait"},
		"a minute is one": {[]evidence.Exchange{at(0, day), at(60*s, day)}, "[{0s 1s} {1m0s 1m1s}]", "up to 1m0s of waiting; --one-by-one does not wait"},
		"no company":      {[]evidence.Exchange{at(0, s), at(day, day+s)}, "[{0s 1s} {1s 2s}]", ""},
		"moments":         {[]evidence.Exchange{at(0, 9*s), at(5*s, 9*s)}, "[{0s 1s} {5s 6s}]", ""},
	} {
		takes := make([]time.Duration, len(c.list))
		for i := range takes {
			takes[i] = s
		}
		if got := fmt.Sprint(played(t, inCompany, c.list, takes)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		says := paceOf(c.list).says()
		if c.says != "" {
			c.says = "requests that overlapped begin as far apart as they did: " + c.says
		}
		if says != c.says {
			t.Errorf("%s: says %q, want %q", name, says, c.says)
		}
	}
}

func TestInCompany(t *testing.T) {
	t.Parallel()
	const s = time.Second
	one, two := at(0, 10*s), at(10*s, 15*s)
	beside := []evidence.Exchange{at(0, 100*s), at(20*s, 50*s), at(60*s, 90*s)}
	for name, c := range map[string]struct {
		list  []evidence.Exchange
		takes []time.Duration
		want  string
	}{
		"one after another, slower": {[]evidence.Exchange{one, two}, []time.Duration{50 * s, s}, "[{0s 50s} {50s 51s}]"},
		"one after another, faster": {[]evidence.Exchange{one, two}, []time.Duration{s, s}, "[{0s 1s} {1s 2s}]"},
		"a pause is not kept":       {[]evidence.Exchange{one, at(99*s, 100*s)}, []time.Duration{10 * s, s}, "[{0s 10s} {10s 11s}]"},
		"overlap as it was":         {beside, []time.Duration{100 * s, 30 * s, 30 * s}, "[{0s 1m40s} {20s 50s} {1m0s 1m30s}]"},
		"the second takes longer":   {beside, []time.Duration{100 * s, 80 * s, 5 * s}, "[{0s 1m40s} {20s 1m40s} {1m40s 1m45s}]"},
		"all are done at once":      {beside, []time.Duration{0, 0, 0}, "[{0s 0s} {20s 20s} {1m0s 1m0s}]"},
		"at one instant":            {[]evidence.Exchange{at(0, 0), at(0, 0), at(0, s)}, []time.Duration{s, s, s}, "[{0s 1s} {1s 2s} {2s 3s}]"},
	} {
		if got := fmt.Sprint(played(t, inCompany, c.list, c.takes)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if got, want := fmt.Sprint(played(t, alone, beside, []time.Duration{s, s, s})), "[{0s 1s} {1s 2s} {2s 3s}]"; got != want {
		t.Errorf("alone: got %s, want %s", got, want)
	}
}

// However long answers take: what came after comes after, what overlapped does not begin
// sooner, no company is larger than it was; and as long as they took, the overlap is as it
// was to the nanosecond.
func TestCompanyIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "exchanges")
		moment := rapid.Int64Range(0, 40)
		var list []evidence.Exchange
		for range n {
			began := moment.Draw(rt, "began")
			list = append(list, at(time.Duration(began), time.Duration(began+1+moment.Draw(rt, "took")%20)))
		}
		slices.SortStableFunc(list, func(a, b evidence.Exchange) int { return int(a.Began - b.Began) })
		asLong := rapid.Bool().Draw(rt, "as long")
		takes := make([]time.Duration, n)
		for i := range takes {
			if takes[i] = list[i].Answer.Timing.Ended; !asLong {
				takes[i] = time.Duration(1 + moment.Draw(rt, "takes"))
			}
		}
		got := played(t, inCompany, list, takes)
		most, was := 0, 0
		for i := range list {
			now, then := 0, 0
			for k := range list {
				if got[k].Began <= got[i].Began && got[i].Began < got[k].Ended {
					now++
				}
				if list[k].Began <= list[i].Began && list[i].Began < list[k].Ended() {
					then++
				}
				if k >= i {
					continue
				}
				apart, wasApart := got[i].Began-got[k].Began, list[i].Began-list[k].Began
				switch sequential := list[k].Ended() <= list[i].Began; {
				case sequential && got[i].Began < got[k].Ended:
					rt.Fatalf("%d began at %v, before %d had ended at %v", i, got[i].Began, k, got[k].Ended)
				case !sequential && apart < wasApart, !sequential && asLong && apart != wasApart:
					rt.Fatalf("%d began %v after %d, and had begun %v after it", i, apart, k, wasApart)
				}
			}
			most, was = max(most, now), max(was, then)
		}
		if most > was {
			rt.Fatalf("%d at once, and there had been %d", most, was)
		}
	})
}

// Nothing begins after the end of the context, and what runs is waited for.
func TestInCompanyStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		var done atomic.Int64
		start := time.Now()
		inCompany(ctx, []evidence.Exchange{at(0, 30*time.Second), at(10*time.Second, 40*time.Second), at(20*time.Second, 21*time.Second)}, func(int) {
			time.Sleep(30 * time.Second)
			done.Add(1)
		})
		if took := time.Since(start); done.Load() != 2 || took != 40*time.Second {
			t.Errorf("%d done in %v, want 2 in 40s", done.Load(), took)
		}
	})
}
