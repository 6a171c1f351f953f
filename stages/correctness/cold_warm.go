package correctness

import (
	"context"
	"fmt"
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
}, sizing{4, func(room) Work { return asks(14, 26*endpoint.TokensPerSentence, answerTokens) }})

// warmSeries is one prompt asked cold and warm.
type warmSeries struct {
	cold      trial
	warm      []trial
	coldFirst time.Duration
	coldLeast time.Duration // the shortest of three
	warmFirst time.Duration
	cached    int // largest count reported on a warm request, -1: none reported
	overcount string
	repeats   []trial // of the very prompt
	texts     ladder  // cold against repeats
}

func coldWarm(ctx context.Context, ep Subject) (gates.Finding, error) {
	if why := ep.Unable(endpoint.PrefixCache); why != "" {
		return gates.NotApply("%s", why), nil
	}
	s, err := runWarm(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	if !s.cold.right() {
		if s, err = runWarm(ctx, ep); err != nil {
			return gates.Finding{}, err
		}
	}
	if bad, ok := s.foreign(); ok {
		return ep.blame(ctx, gates.Fail("an answer holds the code %s of another prompt", bad.seen).With("%s", bad.says()), gates.Cache), nil
	}
	switch {
	case s.overcount != "":
		return gates.Fail("%s", s.overcount).Under(gates.Cache), nil
	case !s.cold.right():
		return gates.Skip("this model does not give the code back even cold, from %d tokens", s.cold.answer.Usage.Prompt.Or(0)).With("%s", s.cold.says()), nil
	}
	bad, wrong := s.firstWrong()
	if wrong == 0 {
		return s.judgeTexts(ctx, ep)
	}
	again, err := runWarm(ctx, ep)
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
	return ep.blame(ctx, f, gates.Cache), nil
}

// judgeTexts compares the words of the repeats with those of the cold answer, where all
// codes are right.
func (s warmSeries) judgeTexts(ctx context.Context, ep Subject) (gates.Finding, error) {
	for _, t := range s.repeats {
		if shown(t.answer) != shown(s.repeats[0].answer) { // repeats differ among themselves
			return s.healthy(), nil
		}
	}
	for _, t := range s.repeats {
		d, err := ep.differ(ctx, t.request, s.cold.answer, t.answer)
		if err != nil {
			return gates.Finding{}, err
		}
		s.texts.add(d)
	}
	if s.texts.grade(ep.options.Invariant) == gradeTooMuch {
		f := gates.Fail("the codes are right, and %d of %d warm texts part from the cold one beyond near ties", s.texts.differing(), s.texts.pairs())
		return ep.blame(ctx, f.With("%s", s.texts.says()).With("%s", s.texts.worst.says()), gates.Cache), nil
	}
	return s.healthy(), nil
}

// runWarm asks one series. The prompt's first sentence is unlike every earlier one,
// so that nothing of it is in a cache.
func runWarm(ctx context.Context, ep Subject) (warmSeries, error) {
	blue, red := ep.Canaries().Issue(), ep.Canaries().Issue()
	prose := ep.fresh()
	head := prose.Sentences(24)
	body := head + " The blue code is " + blue.String() + ". The red code is " + red.String() + ". " + prose.Sentences(2)
	ask := func(colour string, want gates.Canary, own gates.Canary) (trial, error) {
		t := trial{want: want, own: []gates.Canary{own}, kind: colour, request: endpoint.Chat(body + " What is the " + colour + " code?").MaxTokens(64)}
		t.answer, t.err = ep.Ask(ctx, t.request)
		t.judge(ep, own)
		return t, t.err
	}
	s := warmSeries{cached: -1}
	var err error
	if s.cold, err = ask("blue", blue, red); err != nil {
		return s, err
	}
	if n, p := s.cold.answer.Usage.Cached.Or(0), s.cold.answer.Usage.Prompt.Or(0); n*2 > p {
		s.overcount = fmt.Sprintf("%d cached tokens are reported for a prompt of %d that nobody sent before", n, p)
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
		s.repeats = append(s.repeats, s.warm[len(s.warm)-1])
	}
	if err := warm("red", red, blue); err != nil {
		return s, err
	}
	// Another prompt with the same long beginning: its own code, not the cached one's.
	green := ep.Canaries().Issue()
	tail := trial{want: green, kind: "tail", request: question(head, green)}
	tail.answer, tail.err = ep.Ask(ctx, tail.request)
	if tail.err != nil {
		return s, tail.err
	}
	tail.judge(ep)
	s.warm = append(s.warm, tail)
	s.note(tail)
	for range 3 { // other traffic in between
		c := ep.Canaries().Issue()
		if _, err := ep.Ask(ctx, question(ep.fresh().Sentences(3), c)); err != nil {
			return s, err
		}
	}
	if err := warm("blue", blue, red); err != nil {
		return s, err
	}
	return s, s.control(ctx, ep)
}

// control asks the other two kinds of question cold, from prompts that share no
// beginning with any: a model that cannot tell two codes apart cannot do it warm either,
// and what it got wrong is taken out.
func (s *warmSeries) control(ctx context.Context, ep Subject) error {
	prose := ep.fresh()
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
	var kept []trial
	for _, t := range s.warm {
		if t.right() || t.echo == gates.Foreign {
			kept = append(kept, t)
			continue
		}
		if !able[t.kind] {
			continue
		}
		sound, err := ep.rightAnew(ctx, t)
		if err != nil {
			return err
		}
		if sound {
			kept = append(kept, t)
		}
	}
	s.warm = kept
	return nil
}

// rightAnew puts the very same text behind new beginnings, which no cache holds, and reports
// whether it is right behind each: a model that fails there too is no proof against a cache.
func (s Subject) rightAnew(ctx context.Context, t trial) (bool, error) {
	for range 3 {
		again := trial{want: t.want}
		if again.answer, again.err = s.Ask(ctx, t.request.Begin(s.fresh().Sentence())); again.err != nil {
			return false, again.err
		}
		if again.judge(s, t.own...); !again.right() {
			return false, nil
		}
	}
	return true, nil
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
	right := fmt.Sprintf("%d of %d warm answers right, %d of 4 repeats equal to the cold text", len(s.warm), len(s.warm), s.texts.counts[equal])
	if s.texts.differing() > 0 {
		right += fmt.Sprintf(" (%s; %s)", s.texts.says(), s.texts.worst.says())
	}
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
