package hardware

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/mixed",
	Doc: `a long prompt that comes while others are being answered harms neither

With chunked prefill one step holds tokens of a prompt and tokens of answers under way, which is a kernel and a path of metadata of their own.
Some streams count; once each has begun to speak a long prompt is sent. Both must end, be sane, and be as right as they are alone.`,
	Since:  "0.4.0",
	Cost:   1200 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Server},
	Modes:  []string{"CON-01", "CON-10"},
	Faults: []string{"prefill-spoils-decode", "mixed-dies"},
	Causes: []string{"a kernel or metadata of mixed steps that is wrong", "the prompt's chunk overwrites blocks of the answers under way"},
	Next:   []string{"chunked prefill off, or chunks of another size", "another attention backend"},
	Run:    mixed,
})

// mixedTokens are enough for forty numbers, so that an answer is under way when the prompt comes.
const mixedTokens = 160

// newcomer is how long the prompt that joins may take to be read alone.
const newcomer = 3 * time.Second

// counting makes a step that counts from a number on.
func counting(first int) step {
	return step{request: endpoint.Chat(fmt.Sprintf("List the numbers from %d to %d, separated by commas.", first, first+39)).MaxTokens(mixedTokens)}
}

// counter is a stream that counts.
type counter struct {
	first int
	step
}

// run returns how many numbers follow each other from the first on.
func (c counter) run() int {
	n := 0
	for _, digits := range wholeNumber.FindAllString(c.answer.Everything(), -1) {
		switch v, err := strconv.Atoi(digits); {
		case err == nil && v == c.first+n:
			n++
		case n > 1:
			return n
		}
	}
	return n
}

var wholeNumber = regexp.MustCompile(`\d+`)

func mixed(ctx context.Context, s Subject) (gates.Finding, error) {
	writers := min(3, s.streams()-1)
	if writers < 1 {
		return gates.NotApply("the server runs one request at a time"), nil
	}
	// Alone: what the streams count, and how long the prompt may be.
	alone := make([]counter, writers)
	for i := range alone {
		alone[i] = counter{11 + 50*i, counting(11+50*i).put(ctx, s)}
		if err := alone[i].err; err != nil {
			return gates.Finding{}, err
		}
		if what := alone[i].ill(); what != "" {
			return gates.Skip("nothing to compare with: already alone: %s", what), nil
		}
	}
	n, single, err := s.newcomer(ctx)
	if err != nil {
		return gates.Finding{}, err
	}
	if what := single.ill(); what != "" {
		return gates.Skip("nothing to compare with: a prompt of that length is not answered alone: %s", what), nil
	}
	first, err := s.meeting(ctx, alone, n, single.right(s))
	if err != nil {
		return gates.Finding{}, err
	}
	said := fmt.Sprintf("a prompt of %d tokens beside %d streams that write", first.prompt.answer.Usage.Prompt.Or(n*endpoint.TokensPerSentence), first.met)
	switch again := first; {
	case first.what == "" && first.met == 0:
		return gates.Skip("the streams had ended when the prompt came, %d tokens long: nothing was mixed", n*endpoint.TokensPerSentence), nil
	case first.what == "":
		return gates.Pass("%s: all sane, as right as alone", said), nil
	default:
		if again, err = s.meeting(ctx, alone, n, single.right(s)); err != nil {
			return gates.Finding{}, err
		}
		switch {
		case again.what == "" && first.hard:
			return gates.Warn("%s: once, and not again: %s", said, first.what), nil
		case again.what == "":
			return gates.Pass("%s: all sane", said).With("once, and not again: %s", first.what), nil
		}
		return gates.Fail("%s: %s", said, first.what).With("again: %s", again.what).With("alone the same requests are well"), nil
	}
}

// newcomer finds how many sentences make a prompt that is read in a few seconds, and asks
// it alone.
func (s Subject) newcomer(ctx context.Context) (n int, t step, err error) {
	const some, most = 40, 270 // beyond the usual chunks of 512, 2048 and 4000 tokens
	probe := s.asking(sentences(some)).put(ctx, s)
	if probe.err != nil {
		return 0, probe, probe.err
	}
	n = most
	if took := probe.answer.Timing.FirstToken; took > 0 {
		n = min(n, int(some*newcomer/took))
	}
	if c := s.ContextTokens(0); c > 0 {
		n = min(n, c/2/endpoint.TokensPerSentence)
	}
	if n = max(n, 8); n <= some {
		return min(n, some), probe, nil
	}
	t = s.asking(sentences(n)).put(ctx, s)
	return n, t, t.err
}

// A meeting is what came of a long prompt beside streams that write.
type meeting struct {
	prompt step
	met    int    // streams that were writing while the prompt was read
	what   string // is wrong, "" for nothing
	hard   bool   // and no mistake of a model explains it
}

func (s Subject) meeting(ctx context.Context, alone []counter, n int, able bool) (meeting, error) {
	streams := make([]counter, len(alone))
	var speaking atomic.Int32
	all := make(chan struct{})
	begun := func() {
		if int(speaking.Add(1)) == len(alone) {
			close(all)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		steps := make([]step, len(alone))
		for i, a := range alone {
			steps[i] = counting(a.first)
			steps[i].request = steps[i].request.Speaks(begun)
		}
		for i, t := range s.together(ctx, steps) {
			streams[i] = counter{alone[i].first, t}
		}
	}()
	select { // a stream that never speaks ends some day
	case <-all:
	case <-done:
	}
	m := meeting{prompt: s.asking(sentences(n)).put(ctx, s)}
	<-done
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	from := m.prompt.answer.Timing.Began
	for i, c := range streams {
		if c.err == nil && c.answer.Timing.Began.Add(c.answer.Timing.LastToken).After(from) {
			m.met++
		}
		switch what := c.ill(); {
		case what != "":
			m.what, m.hard = "an answer under way: "+what, true
		case m.what == "" && c.err == nil && alone[i].run() >= enoughNumbers && 2*c.run() < alone[i].run():
			m.what = fmt.Sprintf("an answer under way counts %d numbers in a row, and %d alone: %s", c.run(), alone[i].run(), c.answer.Says())
		}
	}
	switch what := m.prompt.ill(); {
	case what != "":
		m.what, m.hard = "the prompt that came: "+what, true
	case m.what == "" && able && m.prompt.err == nil && !m.prompt.right(s):
		m.what = "the prompt that came: " + m.prompt.says()
	}
	return m, nil
}

// enoughNumbers in a row alone are an ability that company can take away.
const enoughNumbers = 20
