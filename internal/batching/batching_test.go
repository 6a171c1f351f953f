package batching_test

import (
	"testing"
	"time"

	"infbench/internal/batching"
	"pgregory.net/rapid"
)

func scheduler(t interface{ Fatal(...any) }, l batching.Limits) *batching.Scheduler {
	s, err := batching.NewScheduler(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func roomy() batching.Limits {
	return batching.Limits{Blocks: 4096, BlockSize: 16, MaxRunning: 64, StepTokens: 2048}
}

func tokens(n int, seed int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = seed + int32(i)
	}
	return out
}

// drain runs the scheduler until it is empty and returns the number of steps.
func drain(s *batching.Scheduler) int {
	for steps := 0; ; steps++ {
		step := s.Plan(1 << 60)
		if step.Empty() {
			return steps
		}
		s.Commit(step)
	}
}

func TestIdenticalPromptHitsAllButTheLastToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prompt, cached int }{
		{8192, 8176}, {8193, 8192}, {8200, 8192}, {100, 96}, {16, 0}, {17, 16}, {1, 0}, {96, 80},
	} {
		s := scheduler(t, roomy())
		first := batching.NewSequence(tokens(c.prompt, 1), tokens(3, 90000), "", 0)
		second := batching.NewSequence(tokens(c.prompt, 1), tokens(3, 95000), "", 0)
		for i, q := range []*batching.Sequence{first, second} {
			if err := s.Add(q); err != nil {
				t.Fatal(err)
			}
			drain(s)
			if want := c.cached * i; q.Cached() != want {
				t.Errorf("prompt of %d, request %d: got %d cached tokens, want %d", c.prompt, i+1, q.Cached(), want)
			}
		}
	}
}

func TestCacheSeparates(t *testing.T) {
	t.Parallel()
	s := scheduler(t, roomy())
	base := tokens(160, 1)
	changed := tokens(160, 1)
	changed[40] = -1
	grown := append(tokens(160, 1), tokens(3, 90000)...)
	for _, c := range []struct {
		name   string
		prompt []int32
		salt   string
		cached int
	}{
		{"cold", base, "", 0},
		{"another salt", base, "x", 0},
		{"same salt again", base, "x", 144},
		{"differs at token 40", changed, "", 32},
		{"prompt and answer of the first", append(grown, tokens(40, 7000)...), "", 160},
	} {
		q := batching.NewSequence(c.prompt, tokens(3, 90000), c.salt, 0)
		if err := s.Add(q); err != nil {
			t.Fatal(err)
		}
		drain(s)
		if q.Cached() != c.cached {
			t.Errorf("%s: got %d cached tokens, want %d", c.name, q.Cached(), c.cached)
		}
	}
	s.ResetCache()
	q := batching.NewSequence(base, tokens(1, 1), "", 0)
	if err := s.Add(q); err != nil {
		t.Fatal(err)
	}
	if drain(s); q.Cached() != 0 {
		t.Errorf("after a reset: got %d cached tokens", q.Cached())
	}
}

func TestEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	l := roomy()
	l.Blocks = 24 // three prompts of 8 blocks
	s := scheduler(t, l)
	send := func(seed int32) int {
		q := batching.NewSequence(tokens(120, seed), tokens(1, 5), "", 0)
		if err := s.Add(q); err != nil {
			t.Fatal(err)
		}
		drain(s)
		return q.Cached()
	}
	const a, b, c, d = 1000, 2000, 3000, 4000
	send(a)
	send(b)
	send(c)
	if got := send(a); got != 112 {
		t.Errorf("a again: got %d cached tokens, want 112", got)
	}
	send(d) // the place of b
	if got := send(a); got != 112 {
		t.Errorf("a after d: got %d cached tokens, want 112", got)
	}
	if got := send(b); got == 112 {
		t.Errorf("b survived although it was used least recently")
	}
}

func TestChunksAPrompt(t *testing.T) {
	t.Parallel()
	l := roomy()
	l.StepTokens = 100
	s := scheduler(t, l)
	if err := s.Add(batching.NewSequence(tokens(250, 1), tokens(4, 1), "", 0)); err != nil {
		t.Fatal(err)
	}
	var got []int
	for step := s.Plan(0); !step.Empty(); step = s.Plan(0) {
		got = append(got, step.Prefill(), step.Decodes(), step.Attended())
		s.Commit(step)
	}
	want := []int{100, 0, 100, 100, 0, 200, 50, 0, 250, 0, 1, 251, 0, 1, 252, 0, 1, 253}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestLimitsTellAllReasons(t *testing.T) {
	t.Parallel()
	if _, err := batching.NewScheduler(batching.Limits{}); err == nil {
		t.Error("zero limits accepted")
	}
	if _, err := batching.NewScheduler(batching.Limits{Blocks: 1, BlockSize: 1, MaxRunning: 8, StepTokens: 4}); err == nil {
		t.Error("a batch larger than the step was accepted")
	}
	s := scheduler(t, batching.Limits{Blocks: 2, BlockSize: 4, MaxRunning: 1, StepTokens: 4})
	if err := s.Add(batching.NewSequence(tokens(8, 1), tokens(1, 1), "", 0)); err == nil {
		t.Error("a sequence that can never run was queued")
	}
	if err := (batching.Cost{}).Validate(); err == nil {
		t.Error("a step that takes no time was accepted")
	}
}

// Whatever arrives, leaves or is preempted: blocks are never lost, the prompt is
// the cached and the computed part, everybody gets all tokens, and nothing starves.
func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := batching.Limits{
			BlockSize:   rapid.IntRange(1, 8).Draw(t, "block size"),
			MaxRunning:  rapid.IntRange(1, 5).Draw(t, "max running"),
			NoPrefixHit: rapid.Bool().Draw(t, "no cache"),
		}
		l.StepTokens = l.MaxRunning + rapid.IntRange(0, 20).Draw(t, "step tokens")
		l.Blocks = (60+l.BlockSize-1)/l.BlockSize + rapid.IntRange(0, 20).Draw(t, "spare blocks")
		s := scheduler(t, l)
		var all, inside []*batching.Sequence
		want := make(map[*batching.Sequence]int)
		removed := make(map[*batching.Sequence]bool)
		computed := 0
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				n, m := rapid.IntRange(1, 40).Draw(t, "prompt"), rapid.IntRange(1, 20).Draw(t, "output")
				q := batching.NewSequence(tokens(n, rapid.Int32Range(0, 2).Draw(t, "seed")), tokens(m, 500), "", 0)
				if err := s.Add(q); err != nil {
					t.Fatal(err)
				}
				all, inside = append(all, q), append(inside, q)
				want[q] = m
			case 1:
				if len(inside) > 0 {
					q := inside[rapid.IntRange(0, len(inside)-1).Draw(t, "who")]
					s.Remove(q)
					removed[q] = true
				}
			default:
				step := s.Plan(0)
				if p := step.Prefill() + step.Decodes(); p > l.StepTokens {
					t.Fatalf("step of %d tokens, limit %d", p, l.StepTokens)
				}
				computed += step.Prefill()
				s.Commit(step)
			}
			check(t, s, l)
		}
		for i := 0; ; i++ {
			step := s.Plan(0)
			if step.Empty() {
				break
			}
			if i > 100_000 {
				t.Fatal("no end")
			}
			computed += step.Prefill()
			s.Commit(step)
			check(t, s, l)
		}
		if load := s.Load(); load.Running+load.Waiting+load.BlocksHeld != 0 {
			t.Fatalf("left over: %+v", load)
		}
		owed := 0
		for _, q := range all {
			if removed[q] {
				continue
			}
			if !q.Done() || q.Generated() != want[q] {
				t.Fatalf("sequence has %d of %d tokens", q.Generated(), want[q])
			}
			if q.Cached() < 0 || q.Cached() >= q.Prompt() {
				t.Fatalf("%d of %d prompt tokens cached", q.Cached(), q.Prompt())
			}
			owed += q.Prompt() - q.Cached()
		}
		if computed < owed || s.Totals().Preemptions == 0 && len(removed) == 0 && computed != owed {
			t.Fatalf("computed %d prompt tokens, owed %d, %d preemptions", computed, owed, s.Totals().Preemptions)
		}
	})
}

func check(t *rapid.T, s *batching.Scheduler, l batching.Limits) {
	load := s.Load()
	if load.Running > l.MaxRunning || load.BlocksHeld < 0 || load.BlocksHeld > l.Blocks {
		t.Fatalf("load %+v beyond %+v", load, l)
	}
	if load.Running == 0 && load.BlocksHeld > 0 {
		t.Fatalf("nobody runs, yet blocks are held: %+v", load)
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	s := scheduler(t, roomy())
	if err := s.Add(batching.NewSequence(tokens(500, 1), tokens(2, 1), "", 0)); err != nil {
		t.Fatal(err)
	}
	cost := batching.DefaultCost()
	step := s.Plan(0)
	if got, want := cost.Of(step), 9910*time.Microsecond; got != want {
		t.Errorf("prefill of 500 tokens: got %v, want %v", got, want)
	}
	s.Commit(step)
	if got, want := cost.Of(s.Plan(0)), 1960*time.Microsecond+20*time.Nanosecond; got != want {
		t.Errorf("decode at depth 501: got %v, want %v", got, want)
	}
}

func BenchmarkDecode256(b *testing.B) {
	l := roomy()
	l.Blocks, l.MaxRunning = 65536, 256
	s := scheduler(b, l)
	for i := range 256 {
		if err := s.Add(batching.NewSequence(tokens(500, int32(i)*1000), tokens(3000, 1), "", 0)); err != nil {
			b.Fatal(err)
		}
	}
	for range 100 {
		s.Commit(s.Plan(0))
	}
	b.ReportAllocs()
	for b.Loop() {
		step := s.Plan(0)
		if step.Empty() {
			b.Skip("ran out of tokens")
		}
		s.Commit(step)
	}
}
