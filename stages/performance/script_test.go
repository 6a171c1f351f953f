package performance

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/arrival"
	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"
)

// bodyOf returns the messages that a request sends.
func bodyOf(t *testing.T, ep endpoint.Endpoint, r request) []string {
	t.Helper()
	var out []string
	for _, m := range r.chat.Messages() {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func TestAnAgentsTurnHoldsTheOneBeforeVerbatim(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	s := newAgent(ep, nil, 7, 32768, 64)
	c := s.begin(0)
	before := bodyOf(t, ep, c.make())
	for turn := range 20 {
		now := bodyOf(t, ep, c.make())
		if len(now) < len(before) { // the session has come to its end, and begins anew
			before = now
			continue
		}
		if !slices.Equal(now[:len(before)], before) {
			t.Fatalf("turn %d does not begin with the turn before", turn+1)
		}
		if len(now) != len(before)+2 {
			t.Errorf("turn %d adds %d messages, want an answer and a result", turn+1, len(now)-len(before))
		}
		before = now
	}
}

func TestAgentsSessionsFollowTheSeedAndBeginApart(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	first := func(seed uint64, number int) string {
		return bodyOf(t, ep, newAgent(ep, nil, seed, 32768, 64).begin(number).make())[0]
	}
	if one, again := first(1, 0), first(1, 0); one != again {
		t.Error("equal seeds begin differently")
	}
	seen := map[string]bool{}
	for number := range 8 {
		begins := first(1, number)[:60]
		if seen[begins] {
			t.Errorf("session %d begins like another: one would be in the other's cache", number)
		}
		seen[begins] = true
	}
	if first(1, 0) == first(2, 0) {
		t.Error("another seed sends the same: it would be in the cache of the run before")
	}
}

// The recorded median prompt has 92,888 tokens; a context of a tenth holds a tenth of it.
func TestAgentsSessionsFitTheContext(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	for _, context := range []int{2048, 4096, 32768, 131072, 1 << 20} {
		s := newAgent(ep, nil, 1, context, 64)
		longest := 0.0
		var all []float64
		for number := range 16 {
			c := s.begin(number)
			for range 10 {
				c.make()
				longest = max(longest, c.tokens)
				all = append(all, c.tokens)
			}
		}
		if longest+64 > float64(context) {
			t.Errorf("a context of %d: a prompt of about %.0f tokens", context, longest)
		}
		slices.Sort(all)
		median, want := all[len(all)/2], float64(s.medianTokens())
		if context >= 32768 && (median < 0.8*want || median > 1.3*want) {
			t.Errorf("a context of %d: the median prompt has about %.0f tokens, want about %.0f", context, median, want)
		}
	}
	if s := newAgent(ep, nil, 1, 1<<20, 64); s.scale != 1 || s.medianTokens() != 92888 {
		t.Errorf("a context that holds all: scale %v", s.scale)
	}
}

// A tokenizer that is twice as dear as was guessed must not overrun the context before that
// is known.
func TestTheFirstSampleIsShort(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	for seed := range uint64(20) {
		s := newAgent(ep, nil, seed, 32768, 64)
		s.sample()
		if n := s.sampling.tokens; n*2.5 > 32768 {
			t.Errorf("seed %d: the first sample has about %.0f tokens by the guess", seed, n)
		}
	}
}

// The sizes of turns have a long tail: over many seeds no session is longer than its context,
// from its first prompt on.
func TestNoSeedOverrunsTheContext(t *testing.T) {
	t.Parallel()
	ep := endpointtest.Open(t, &txtar.Archive{})
	for seed := range uint64(300) {
		s := newAgent(ep, nil, seed, 32768, 64)
		for number := range 4 {
			c := s.begin(number)
			for turn := range 4 {
				if c.make(); c.tokens+64 > 0.9*32768 {
					t.Fatalf("seed %d, session %d, turn %d: about %.0f tokens", seed, number, turn, c.tokens)
				}
			}
		}
	}
}

func TestWorkloadFollowsTheArrivalModels(t *testing.T) {
	t.Parallel()
	parse := func(texts ...string) (out []arrival.ArrivalModel) {
		for _, text := range texts {
			m, err := arrival.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
		return out
	}
	for _, c := range []struct {
		config Config
		models []arrival.ArrivalModel
		want   string
	}{
		{Config{}, parse("sessions:n=1", "sessions:n=4,think=1s"), Agent},
		{Config{}, parse("sessions:n=1", "poisson:rate=1"), Independent},
		{Config{PromptTokens: 100}, parse("sessions:n=1"), Independent},
		{Config{Workload: Independent}, parse("sessions:n=1"), Independent},
	} {
		if got := WorkloadOf(c.config, c.models); got != c.want {
			t.Errorf("%+v under %v: %s, want %s", c.config, c.models, got, c.want)
		}
	}
}

// An engine that keeps a prefix cache has nearly all of an agent's prompt in it, and computes
// the rest: nominal prefill is more than ten times the computed one.
func TestAnAgentsPromptsAreInTheCache(t *testing.T) {
	t.Parallel()
	c := quick()
	c.PromptTokens, c.Workload = 0, Agent
	s, err := Measure(t.Context(), endpointtest.Open(t, &txtar.Archive{}), proof(t), sweepOf(t, "sessions:n=1"), c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	l := s.levels[0]
	if !l.cachedKnown || l.cachedShare < 0.85 {
		t.Errorf("%.2f of the prompt tokens came from the cache (told: %v)", l.cachedShare, l.cachedKnown)
	}
	if len(l.void) > 0 || l.held != l.good {
		t.Errorf("void %v, %d of %d codes", l.void, l.held, l.good)
	}
}

func TestRepeatedPromptsAreWarm(t *testing.T) {
	t.Parallel()
	c := quick()
	c.PromptTokens, c.Workload = 400, Repeated
	s, err := Measure(t.Context(), endpointtest.Open(t, &txtar.Archive{}), proof(t), sweepOf(t, "sessions:n=2"), c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	if l := s.levels[0]; l.cachedShare < 0.8 || l.held != l.good {
		t.Errorf("%.2f of the prompt tokens came from the cache, %d of %d codes", l.cachedShare, l.held, l.good)
	}
	if s.workload.CacheIntent != "warm, but for the question" {
		t.Errorf("the record says %q", s.workload.CacheIntent)
	}
}

func TestTheLadderGoesAsFarAsTheContext(t *testing.T) {
	t.Parallel()
	c := quick()
	c.Depths = []int{256, 1024, 4096, 65536}
	c.PerLevel = 0
	ep := endpointtest.Open(t, &txtar.Archive{})
	s, err := Measure(t.Context(), ep, proof(t), sweepOf(t, "sessions:n=1"), c, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	var depths []int
	for _, r := range s.rungs {
		depths = append(depths, r.depth)
		if r.good != rungAnswers || r.warmup != 1 {
			t.Errorf("depth %d: %d good, %d warm-up", r.depth, r.good, r.warmup)
		}
	}
	most := int(float64(ep.ContextTokens(0))*deepest) - c.OutputTokens
	if want := []int{256, 1024, 4096, most}; !slices.Equal(depths, want) {
		t.Errorf("depths %v, want %v", depths, want)
	}
	if len(s.depthsLeft) != 1 || !strings.Contains(s.depthsLeft[0], "65536 tokens and more: the context holds") {
		t.Errorf("left out: %q", s.depthsLeft)
	}
	if _, err := s.Measurements(); err != nil {
		t.Error(err)
	}
}

func TestTheLadderStopsWithTheRun(t *testing.T) {
	t.Parallel()
	c := quick()
	c.Depths = []int{256, 1024}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s, err := Measure(ctx, endpointtest.Open(t, &txtar.Archive{}), proof(t), sweepOf(t, "sessions:n=1"), c, func(p Progress) {
		if p.Depth == 256 && p.Finished {
			stop()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.rungs) != 1 || len(s.depthsLeft) != 1 || !strings.Contains(s.depthsLeft[0], "not measured at 1024 tokens: the run was stopped") {
		t.Errorf("%d rungs, left out %q", len(s.rungs), s.depthsLeft)
	}
}
