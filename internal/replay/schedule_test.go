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
