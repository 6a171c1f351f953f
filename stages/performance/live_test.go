package performance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"

	"github.com/rogpeppe/go-internal/txtar"
)

// The sketch's median lies within 1/64 of the one that sorting finds.
func TestSketchMedian(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s sketch
		var all []int64
		for range 1 + rng.IntN(500) {
			v := rng.Int64N(1 << rng.IntN(63))
			s.add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		want, got := all[(len(all)+1)/2-1], s.median()
		if d := got - want; max(d, -d) > want/64+1 {
			t.Fatalf("seed %d: median %d of %d numbers, want %d", seed, got, len(all), want)
		}
	}
	var none sketch
	if none.median() != 0 {
		t.Errorf("the median of nothing is %d", none.median())
	}
	var least sketch
	least.add(-5)
	if least.median() != 0 {
		t.Errorf("a negative number counts as %d, want 0", least.median())
	}
}

// FuzzSketchBuckets: a bucket's middle is in the bucket, and near to what fell into it.
func FuzzSketchBuckets(f *testing.F) {
	for _, v := range []int64{0, 1, 63, 64, 65, 127, 128, 1 << 40, 1<<63 - 1} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		i := bucketOf(v)
		if i < 0 || i >= len(sketch{}.buckets) {
			t.Fatalf("%d falls into bucket %d", v, i)
		}
		mid := middleOf(i)
		if v = max(v, 0); bucketOf(mid) != i || max(mid-v, v-mid) > v/64+1 {
			t.Errorf("%d falls into bucket %d, whose middle %d falls into %d", v, i, mid, bucketOf(mid))
		}
	})
}

func answered(session, turn int, ttft, decode time.Duration, n int) kept {
	return kept{
		out: record.OK, n: n, prompt: gates.CountOf(512), slot: arrival.Slot{Session: session, Turn: turn},
		a: endpoint.Answer{Timing: endpoint.Timing{FirstToken: ttft, LastToken: ttft + decode, Ended: ttft + decode}},
	}
}

// Times by hand: two sessions, of which one rests for a quarter of the time.
func TestLiveCounts(t *testing.T) {
	t.Parallel()
	g, m := proof(t), sweepOf(t, "sessions:n=2").Levels()[0]
	synctest.Test(t, func(t *testing.T) {
		l := newLive(g, m, record.EngineUsage)
		l.started()
		l.started()
		time.Sleep(time.Second)
		l.ended(answered(0, 0, 9*time.Second, time.Second, 65)) // warm-up: in no figure
		time.Sleep(time.Second)
		l.started()
		time.Sleep(2 * time.Second)
		l.ended(answered(1, 1, 100*time.Millisecond, time.Second, 65))
		l.ended(answered(0, 1, 100*time.Millisecond, time.Second, 65))
		l.started()
		look, err := l.look()
		if err != nil {
			t.Fatal(err)
		}
		if look.Running() != 4*time.Second || look.Issued() != 4 || look.InFlight() != 1 || look.Good() != 3 || look.Failed() != 0 {
			t.Errorf("running %v, issued %d, in flight %d, good %d, failed %d", look.Running(), look.Issued(), look.InFlight(), look.Good(), look.Failed())
		}
		// In flight: 1 s of the first, 4 s of the second, 2 s of the third, over 4 s.
		d := look.Decode()
		if v, ok := d.PerSecond(); !ok || v < 63 || v > 65 || d.DepthTokens < 535 || d.DepthTokens > 553 || d.InFlight != 7.0/4 {
			t.Errorf("decode %v, want 64 tok/s at depth 544, 1.75 in flight", d)
		}
		if v, ok := look.TTFT().Value(); !ok || v < 98*time.Millisecond || v > 102*time.Millisecond {
			t.Errorf("TTFT %v, want 100ms", look.TTFT())
		}
	})
}

// In an open loop the wait before sending counts.
func TestLiveOpenLoopCountsFromDue(t *testing.T) {
	t.Parallel()
	l := newLive(proof(t), sweepOf(t, "constant:rate=2").Levels()[0], record.EngineUsage)
	due := time.Now()
	for range 2 {
		k := answered(0, 0, 100*time.Millisecond, time.Second, 65)
		k.due, k.began = due, due.Add(400*time.Millisecond)
		l.started()
		l.ended(k)
	}
	look, err := l.look()
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := look.TTFT().Value(); !ok || v < 490*time.Millisecond || v > 510*time.Millisecond {
		t.Errorf("TTFT %v, want 500ms", look.TTFT())
	}
}

// Many requests at once: counts hold, and the nil live is of no harm.
func TestLiveIsSafe(t *testing.T) {
	t.Parallel()
	l := newLive(proof(t), sweepOf(t, "sessions:n=8").Levels()[0], record.ChunkCount)
	stop := l.watch(func(record.Live) {})
	var wg sync.WaitGroup
	for session := range 8 {
		wg.Go(func() {
			for turn := range 200 {
				l.started()
				k := answered(session, turn, time.Millisecond, time.Millisecond, 10)
				if turn%10 == 9 {
					k.out = record.Rejected
				}
				l.ended(k)
			}
		})
	}
	wg.Wait()
	stop()
	look, err := l.look()
	if err != nil {
		t.Fatal(err)
	}
	if look.Issued() != 1600 || look.Good() != 1440 || look.Failed() != 160 || look.InFlight() != 0 {
		t.Errorf("issued %d, good %d, failed %d, in flight %d", look.Issued(), look.Good(), look.Failed(), look.InFlight())
	}
	if look.Decode().Withheld() != "nobody counted the tokens" {
		t.Errorf("decode %v", look.Decode())
	}
	(*live)(nil).started()
	(*live)(nil).ended(kept{})
}

// Looks come twice a second, and none after the end.
func TestWatchTellsTwiceASecond(t *testing.T) {
	t.Parallel()
	g, m := proof(t), sweepOf(t, "sessions:n=1").Levels()[0]
	synctest.Test(t, func(t *testing.T) {
		l := newLive(g, m, record.EngineUsage)
		told := 0
		stop := l.watch(func(record.Live) { told++ })
		time.Sleep(10*time.Second + time.Millisecond)
		stop()
		if told != 20 {
			t.Errorf("told %d times in 10 s, want 20", told)
		}
		time.Sleep(2 * time.Second)
		if told != 20 {
			t.Errorf("told %d times after the end", told)
		}
	})
}

// Of a real sweep: looks belong to their level and lie between its beginning and its end.
func TestMeasureShowsItself(t *testing.T) {
	t.Parallel()
	c := quick()
	c.PerLevel = 1200 * time.Millisecond
	var seen []string
	_, err := Measure(t.Context(), endpointtest.Open(t, &txtar.Archive{}), proof(t), sweepOf(t, "sessions:n=1", "sessions:n=2"), c, func(p Progress) {
		switch {
		case p.Finished:
			seen = append(seen, fmt.Sprint("end ", p.Index))
		case p.Live.IsZero():
			seen = append(seen, fmt.Sprint("begin ", p.Index))
		default:
			seen = append(seen, fmt.Sprint("look ", p.Index))
			if l := p.Live; l.Issued() == 0 || p.Left > 2*c.PerLevel || l.Arrival().Sessions() != p.Index+1 {
				t.Errorf("issued %d, in flight %d, good %d, failed %d, left %v, %s", l.Issued(), l.InFlight(), l.Good(), l.Failed(), p.Left, l.Arrival())
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Compact(seen); !slices.Equal(got, []string{"begin 0", "look 0", "end 0", "begin 1", "look 1", "end 1"}) {
		t.Errorf("%v", got)
	}
}

// What counting costs a request, beside which nothing is counted: see the two hooks.
func BenchmarkLive(b *testing.B) {
	var t testing.T
	l := newLive(proof(&t), sweepOf(&t, "sessions:n=1").Levels()[0], record.EngineUsage)
	k := answered(0, 1, time.Millisecond, time.Second, 64)
	b.ReportAllocs()
	for b.Loop() {
		l.started()
		l.ended(k)
	}
}
