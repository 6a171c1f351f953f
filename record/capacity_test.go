package record_test

import (
	"slices"
	"testing"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

// levels makes a sweep of sessions from letters: p passes, f fails, t has too few requests,
// v is void.
func levels(sessions []int, stands string) record.PerfRecord {
	var parts []record.LevelParts
	for i, n := range sessions {
		p := recordtest.Requests(recordtest.Sessions(n), 100, nil)
		switch stands[i] {
		case 'f':
			p = recordtest.Requests(recordtest.Sessions(n), 100, some(2, slow))
		case 't':
			p = recordtest.Requests(recordtest.Sessions(n), 99, nil)
		case 'v':
			p.Void = []string{"late_dispatch"}
		}
		parts = append(parts, p)
	}
	return recordtest.Sweep(id, record.Objectives{Tiers: record.DefaultTiers()}, parts...)
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	five := []int{1, 2, 4, 8, 16}
	for _, c := range []struct {
		sessions []int
		stands   string
		want     int // sessions, 0 for none
		limited  bool
		beyond   []int
	}{
		{five, "ppfpf", 2, true, []int{8}}, // not monotone
		{five, "ppppp", 16, false, nil},    // at least 16
		{five, "fffff", 0, true, nil},
		{five, "fpppp", 0, true, []int{2, 4, 8, 16}},
		{five, "ppptt", 4, false, nil},
		{five, "ppvff", 2, true, nil},
		{five, "ppvpp", 2, false, nil}, // nothing below them was seen to fail
		{five, "ttttt", 0, false, nil},
		{[]int{16, 1, 8, 2, 4}, "fpppf", 2, true, []int{8}}, // the order of the sweep does not matter
	} {
		p := levels(c.sessions, c.stands)
		got := p.Against(tier(t, "good")).Capacities
		if len(got) != 1 {
			t.Fatalf("%s: %d capacities", c.stands, len(got))
		}
		n, beyond := 0, []int(nil)
		if got[0].Highest >= 0 {
			n = p.Levels()[got[0].Highest].Arrival.Sessions()
		}
		for _, i := range got[0].Beyond {
			beyond = append(beyond, p.Levels()[i].Arrival.Sessions())
		}
		if n != c.want || got[0].Limited != c.limited || !slices.Equal(beyond, c.beyond) || got[0].Withheld != "" || !got[0].Users {
			t.Errorf("%v %s: %d sessions, limited %v, beyond %v; want %d, %v, %v", c.sessions, c.stands, n, got[0].Limited, beyond, c.want, c.limited, c.beyond)
		}
	}
}

// 1,000 prompt tokens of which 500 were cached, 101 output tokens: 1,050 deep, half of it
// from the cache.
func TestCapacityHasItsContext(t *testing.T) {
	t.Parallel()
	c := levels([]int{1, 2}, "pp").Against(tier(t, "good")).Capacities[0].Context
	if share, ok := c.HitRate(); c.DepthTokens != gates.CountOf(1050) || !ok || share != .5 {
		t.Errorf("%v deep, %v from the cache", c.DepthTokens, share)
	}
	deep := func(tokens int) func(int, *record.Sample) {
		return func(_ int, s *record.Sample) { s.PromptTokens = gates.CountOf(tokens) }
	}
	lost := func(_ int, s *record.Sample) { s.PromptTokens = gates.Count{} }
	untold := func(i int, s *record.Sample) {
		if i == 7 {
			s.CachedTokens = gates.Count{}
		}
	}
	refused := func(_ int, s *record.Sample) { s.PromptTokens, s.Outcome = gates.Count{}, record.Rejected }
	think := func(n int) arrival.ArrivalModel {
		m, err := arrival.Sessions(n, 1e9, "test")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	poisson, err := arrival.Poisson(2, "test")
	if err != nil {
		t.Fatal(err)
	}
	burst, err := arrival.Burst(100)
	if err != nil {
		t.Fatal(err)
	}
	all := func(parts ...record.LevelParts) []record.Capacity {
		return recordtest.Sweep(id, record.Objectives{}, parts...).Against(tier(t, "good")).Capacities
	}
	s := recordtest.Sessions
	// Loads of two families are two capacities, and a burst is none.
	if got := all(recordtest.Requests(s(1), 100, nil), recordtest.Requests(think(1), 100, nil), recordtest.Requests(poisson, 100, nil),
		recordtest.Requests(burst, 100, nil), recordtest.Requests(s(2), 100, deep(8000))); len(got) != 3 ||
		!slices.Equal(got[0].Levels, []int{0, 4}) || !slices.Equal(got[1].Levels, []int{1}) || got[2].Users || got[0].Context.DepthTokens != gates.CountOf(8050) {
		t.Errorf("%+v", got)
	}
	// A level that answered nobody has no depth, and still ends the capacity below it.
	if got := all(recordtest.Requests(s(1), 100, nil), recordtest.Requests(s(2), 100, refused)); len(got) != 1 || got[0].Highest != 0 || !got[0].Limited {
		t.Errorf("%+v", got)
	}
	if got := all(recordtest.Requests(s(1), 100, refused), recordtest.Requests(s(2), 100, some(100, slow))); len(got) != 1 || got[0].Highest != -1 || got[0].Withheld != "" {
		t.Errorf("%+v", got)
	}
	if got := all(recordtest.Requests(s(1), 100, lost)); got[0].Withheld == "" {
		t.Errorf("a capacity without its depth: %+v", got)
	}
	if got := all(recordtest.Requests(s(1), 100, untold)); got[0].Withheld != "" {
		t.Errorf("%+v", got)
	} else if _, ok := got[0].Context.HitRate(); ok {
		t.Error("a hit rate that the server did not tell for every request")
	}
}
