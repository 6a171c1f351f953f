package correctness

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Rooms from a laptop to a large server, with and without a known context, under budgets
// from the quick one to an hour: the share of a check goes with the budget.
func rooms(yield func(room) bool) {
	for _, budget := range []time.Duration{QuickBudget, DefaultBudget / 4, DefaultBudget, 3 * DefaultBudget, time.Hour} {
		for _, s := range []Speeds{
			{Prefill: 100, Decode: 10, Fixed: 200 * time.Millisecond},
			{Prefill: 5000, Decode: 60, Fixed: 30 * time.Millisecond},
			{Prefill: 1e6, Decode: 1e6, Fixed: time.Millisecond},
		} {
			for _, context := range []int{0, 2048, 8192, 131072, 1 << 20} {
				for _, inFlight := range []int{1, 4, 64, 1000} {
					for _, percent := range []int{1, 5, 12} {
						if !yield(room{budget * time.Duration(percent) / 100, s, context, inFlight, 512, float64(budget) / float64(DefaultBudget), true}) {
							return
						}
					}
				}
			}
		}
	}
}

// unsized are the checks that ask as much in any room with as many requests in flight.
var unsized = []string{
	"correctness/aborts", "correctness/cold-warm", "correctness/property-order", "correctness/response-cache", "correctness/scores", "correctness/still-right",
	"correctness/structured-company",
}

// What is asked grows with the room and never leaves the context.
func TestPlansFitTheirRoom(t *testing.T) {
	t.Parallel()
	grows := map[string]bool{}
	for r := range rooms {
		context := r.context
		if context == 0 {
			context = 3400
		}
		if p := needlePlanOf(r); p.deepest()*15 > context || !slices.IsSorted(p.sentences) || p.sentences[0] != controlSentences {
			t.Errorf("needle %v in %+v", p, r)
		}
		if p := transcriptPlan(r); p.tokens() > max(context, 1200) || len(p.growth)+1 < 8 || len(p.growth)+1 > agentTurns {
			t.Errorf("transcript of %d tokens, %d turns in %+v", p.tokens(), len(p.growth)+1, r)
		}
		if p := companyPlanOf(r); p.deep*15 > context || p.rounds < 2 || p.sizes[len(p.sizes)-1] != max(2, min(64, r.inFlight)) {
			t.Errorf("company %+v in %+v", p, r)
		}
		if p := evictionPlanOf(r); p.sentences*15 > context {
			t.Errorf("eviction %+v in %+v", p, r)
		}
		more := r
		more.share *= 4
		more.thorough *= 4
		for id, z := range sizings {
			if z.work == nil {
				continue
			}
			a, b := z.work(r), z.work(more)
			grows[id] = grows[id] || a != b
			// Parity takes fewer prompts where there is room for calls beside them.
			if b.PromptTokens < a.PromptTokens || b.Requests < a.Requests && id != "correctness/parity" || r.speeds.Takes(b) < r.speeds.Takes(a) {
				t.Errorf("%s asks less in more room: %+v, then %+v, in %+v", id, a, b, r)
			}
		}
	}
	for id, z := range sizings {
		if want := z.work != nil && !slices.Contains(unsized, id); grows[id] != want {
			t.Errorf("%s grows with its room: %t, want %t", id, grows[id], want)
		}
	}
}

// A check that has room for more than its least keeps to its share.
func TestPlansKeepToTheirShare(t *testing.T) {
	t.Parallel()
	r := room{2 * time.Minute, Speeds{Prefill: 5000, Decode: 60, Fixed: 30 * time.Millisecond}, 131072, 4, 512, 1, true}
	for id, z := range sizings {
		if z.work == nil {
			continue
		}
		if took := r.speeds.Takes(z.work(r)); took > r.share {
			t.Errorf("%s takes %v of %v", id, took, r.share)
		}
	}
}

func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	sum := 0
	for _, z := range sizings {
		sum += z.percent
	}
	if sum > 100 {
		t.Errorf("the shares add up to %d %%", sum)
	}
}

// 1,000 prompt tokens at 500 a second, 50 output tokens at 25, three requests at 0.1 s.
func TestTakes(t *testing.T) {
	t.Parallel()
	s := Speeds{Prefill: 500, Decode: 25, Fixed: 100 * time.Millisecond}
	if got := s.Takes(Work{Requests: 3, PromptTokens: 1000, OutputTokens: 50}); got != 4300*time.Millisecond {
		t.Errorf("takes %v, want 4.3s", got)
	}
}

// At full size the growth has the recorded median, and its 95th percentile within what 43
// draws can tell: 650 and 6,467 tokens.
func TestShapedLike(t *testing.T) {
	t.Parallel()
	_, full := fullGrowth(agentTurns)
	p := shapedLike(agentTurns, int(full))
	sorted := slices.Sorted(slices.Values(p.growth))
	if m := sorted[len(sorted)/2]; math.Abs(float64(m)-650) > 65 {
		t.Errorf("median growth %d, want about 650", m)
	}
	if q := sorted[len(sorted)*95/100]; q < 4000 || q > 10000 {
		t.Errorf("95th percentile %d, want about 6467", q)
	}
	if math.Abs(float64(p.first-agentFirstTokens)) > agentFirstTokens/100 {
		t.Errorf("first prompt %d, want %d", p.first, agentFirstTokens)
	}
	if got := shapedLike(20, 5000).tokens(); got < 4800 || got > 6000 {
		t.Errorf("%d tokens, want about 5000", got)
	}
}

func TestCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		run    int
		broken string
	}{
		{"3, 4, 5, 6", 4, ""},
		{"The numbers from 3 to 42 are: 3, 4, 5", 3, ""},
		{"3, 4, 6, 7", 2, "after 4 comes 6"},
		{"3, 4, 4, 5", 2, "after 4 comes 4"},
		{"3, 5, 4", 0, ""},
		{"nothing", 0, ""},
	} {
		if run, broken := counted(c.text, 3); run != c.run || broken != c.broken {
			t.Errorf("%q: %d, %q; want %d, %q", c.text, run, broken, c.run, c.broken)
		}
	}
}
