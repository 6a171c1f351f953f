package correctness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/cold-warm",
	Doc: `an answer from a warm prefix cache is as right as a cold one

Wrong hits come at the second, third or later repeat and after other traffic: resumed state mishandled, blocks mixed up or freed too
early. One prompt is asked cold, four times again, with another question behind the same text, with another code behind the same beginning, and once more after other requests; the
hit itself must be shown by cached-token counts or by the time to the first token.`,
	Since:  "0.1.0",
	Cost:   6 * time.Second,
	Modes:  []string{"CAC-01", "CAC-02", "CAC-03", "CAC-05", "CAC-11", "USG-04", "USG-05", "USG-07"},
	Faults: []string{"stale-cache", "salad-warm", "wrong-digit-warm", "cached-lies"},
	Causes: []string{"the engine resumes wrongly from cached blocks", "cached blocks are mixed between requests or freed too early", "a host or disk tier of the KV cache loads the wrong blocks"},
	Next:   []string{"the same server with prefix caching off"},
	Run:    coldWarm,
}, sizing{5, func(room) Work { return asks(10, 100, 30) }})

// warmSeries is one prompt asked cold and warm.
type warmSeries struct {
	cold       trial
	warm       []trial
	coldFirst  time.Duration
	coldLeast  time.Duration // the shortest of three
	warmFirst  time.Duration
	cached     int // largest count reported on a warm request, -1: none reported
	overcount  string
	textsEqual int
}

func coldWarm(ctx context.Context, ep Subject) (gates.Finding, error) {
	if why := ep.Unable(endpoint.PrefixCache); why != "" {
		return gates.NotApply("%s", why), nil
	}
	s, err := runWarm(ctx, ep, 1)
	if err != nil {
		return gates.Finding{}, err
	}
	if !s.cold.right() {
		if s, err = runWarm(ctx, ep, 2); err != nil {
			return gates.Finding{}, err
		}
	}
	if bad, ok := s.foreign(); ok {
		return gates.Fail("an answer holds the code %s of another prompt", bad.seen).With("%s", bad.says()), nil
	}
	switch {
	case s.overcount != "":
		return gates.Fail("%s", s.overcount), nil
	case !s.cold.right():
		return gates.Skip("this model does not give the code back even cold, from %d tokens", s.cold.answer.Usage.Prompt.Or(0)).With("%s", s.cold.says()), nil
	}
	bad, wrong := s.firstWrong()
	if wrong == 0 {
		return s.healthy(), nil
	}
	again, err := runWarm(ctx, ep, 3)
	if err != nil {
		return gates.Finding{}, err
	}
	other, wrongAgain := again.firstWrong()
	f := gates.Fail("right cold and wrong warm: %d of %d, and %d of %d with another prompt", wrong, len(s.warm), wrongAgain, len(again.warm))
	if !again.cold.right() || wrongAgain == 0 {
		f = gates.Warn("right cold and wrong warm: %d of %d, and not again with another prompt", wrong, len(s.warm))
	}
	f = f.With("cold: %s", s.cold.says()).With("warm: %s", bad.says())
	if wrongAgain > 0 {
		f = f.With("warm, another prompt: %s", other.says())
	}
	return f, nil
}

// runWarm asks one series. The prompt's first sentence is unlike every earlier one,
// so that nothing of it is in a cache.
func runWarm(ctx context.Context, ep Subject, n uint64) (warmSeries, error) {
	blue, red := ep.Canaries().Issue(), ep.Canaries().Issue()
	seed := uint64(0)
	for _, d := range blue.String() {
		seed = seed*10 + uint64(d-'0')
	}
	prose := endpoint.NewProse(seed + n)
	head := prose.Sentences(24)
	body := head + " The blue code is " + blue.String() + ". The red code is " + red.String() + ". " + prose.Sentences(2)
	ask := func(colour string, want gates.Canary, own gates.Canary) (trial, error) {
		t := trial{want: want, kind: colour}
		t.answer, t.err = ep.Ask(ctx, endpoint.Chat(body+" What is the "+colour+" code?").MaxTokens(64))
		t.judge(ep, own)
		return t, t.err
	}
	s := warmSeries{cached: -1}
	var err error
	if s.cold, err = ask("blue", blue, red); err != nil {
		return s, err
	}
	s.coldFirst = s.cold.answer.Timing.FirstToken
	s.coldLeast = s.coldFirst
	warm := func(colour string, want, own gates.Canary) error {
		t, err := ask(colour, want, own)
		if err != nil {
			return err
		}
		s.warm = append(s.warm, t)
		s.note(t)
		return nil
	}
	for range 4 {
		if err := warm("blue", blue, red); err != nil {
			return s, err
		}
		if s.warm[len(s.warm)-1].answer.Visible() == s.cold.answer.Visible() {
			s.textsEqual++
		}
	}
	if err := warm("red", red, blue); err != nil {
		return s, err
	}
	// Another prompt with the same long beginning: its own code, not the cached one's.
	green := ep.Canaries().Issue()
	tail := trial{want: green, kind: "tail"}
	tail.answer, tail.err = ep.Ask(ctx, endpoint.Chat(head+" The secret code is "+green.String()+". What is the secret code?").MaxTokens(64))
	if tail.err != nil {
		return s, tail.err
	}
	tail.judge(ep)
	s.warm = append(s.warm, tail)
	s.note(tail)
	for i := range 3 { // other traffic in between
		c := ep.Canaries().Issue()
		if _, err := ep.Ask(ctx, question(endpoint.NewProse(seed+uint64(10+i)).Sentences(3), c)); err != nil {
			return s, err
		}
	}
	if err := warm("blue", blue, red); err != nil {
		return s, err
	}
	return s, s.control(ctx, ep, seed+100)
}

// control asks the other two kinds of question cold, from prompts that share no
// beginning with any: a model that cannot tell two codes apart cannot do it warm either,
// and what it got wrong is taken out.
func (s *warmSeries) control(ctx context.Context, ep Subject, seed uint64) error {
	prose := endpoint.NewProse(seed)
	blue, red, green := ep.Canaries().Issue(), ep.Canaries().Issue(), ep.Canaries().Issue()
	apart := trial{want: red}
	apart.answer, apart.err = ep.Ask(ctx, endpoint.Chat(prose.Sentences(24)+" The blue code is "+blue.String()+". The red code is "+red.String()+". "+
		prose.Sentences(2)+" What is the red code?").MaxTokens(64))
	if apart.err != nil {
		return apart.err
	}
	tail := trial{want: green}
	tail.answer, tail.err = ep.Ask(ctx, question(prose.Sentences(24), green))
	if tail.err != nil {
		return tail.err
	}
	apart.judge(ep, blue)
	tail.judge(ep)
	for _, t := range []trial{apart, tail} { // cold as well: the very first may have been slow by itself
		if f := t.answer.Timing.FirstToken; f > 0 {
			s.coldLeast = min(s.coldLeast, f)
		}
	}
	able := map[string]bool{"blue": s.cold.right(), "red": apart.right(), "tail": tail.right()}
	s.warm = slices.DeleteFunc(s.warm, func(t trial) bool { return !t.right() && t.echo != gates.Foreign && !able[t.kind] })
	return nil
}

func (s *warmSeries) note(t trial) {
	if f := t.answer.Timing.FirstToken; f > 0 && (s.warmFirst == 0 || f < s.warmFirst) {
		s.warmFirst = f
	}
	cached, ok := t.answer.Usage.Cached.N()
	if !ok {
		return
	}
	s.cached = max(s.cached, cached)
	if p := t.answer.Usage.Prompt.Or(0); cached > p && s.overcount == "" {
		s.overcount = fmt.Sprintf("%d cached tokens are reported for a prompt of %d", cached, p)
	}
}

func (s warmSeries) foreign() (trial, bool) {
	for _, t := range append([]trial{s.cold}, s.warm...) {
		if t.echo == gates.Foreign {
			return t, true
		}
	}
	return trial{}, false
}

func (s warmSeries) firstWrong() (bad trial, n int) {
	for _, t := range s.warm {
		if !t.right() {
			if n == 0 {
				bad = t
			}
			n++
		}
	}
	return bad, n
}

// healthy says how the hit was proven, or that it was not.
func (s warmSeries) healthy() gates.Finding {
	right := fmt.Sprintf("%d of %d warm answers right, %d of 4 repeats equal to the cold text", len(s.warm), len(s.warm), s.textsEqual)
	switch {
	case s.cached > 0:
		return gates.Pass("%s, up to %d tokens from the cache", right, s.cached)
	case s.cached == 0 && s.warmFirst > 0 && s.warmFirst*2 < s.coldLeast:
		return gates.Warn("cached_tokens is always 0, and the first token comes after %v warm and %v cold: the cache is there and not counted", s.warmFirst.Round(time.Millisecond), s.coldLeast.Round(time.Millisecond)).
			With("%s", right).Because("the field is written and never filled in").Then("count on times, not on cached_tokens, when judging the cache of this server")
	case s.warmFirst > 0 && s.warmFirst*2 < s.coldFirst:
		return gates.Pass("%s; the first token came after %v warm and %v cold", right, s.warmFirst.Round(time.Millisecond), s.coldFirst.Round(time.Millisecond))
	}
	return gates.Skip("the cache was not exercised: no cached tokens are reported, and a repeat is no faster").With("%s", right).
		Because("prefix caching is off, or the server does not report it").Then("the server's option that reports cached tokens in usage")
}
