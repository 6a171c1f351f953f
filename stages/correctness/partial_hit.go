package correctness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/partial-hit",
	Doc: `a prompt whose beginning is cached is answered as one that is new, wherever the two part

The last block of a hit is an edge: partly filled, shared with a prompt that goes on otherwise, or exactly full, so that nothing is left to compute. A family of
prompts shares its beginning and parts at one word after another, so that every place within a block of 16 tokens is met; others are made to be exactly as long
as a block of 128 tokens and put again. Each asks for its own code; what is wrong is asked once more with a beginning of its own.`,
	Since:  "0.3.0",
	Cost:   8 * time.Second,
	Modes:  []string{"CAC-01", "CAC-02", "CAC-08", "CAC-09", "CAC-10"},
	Faults: []string{"partial-hit-wrong", "block-edge-wrong", "boundary", "tenant-tail"},
	Causes: []string{"the last, partly filled block of a hit is resumed wrongly", "a prompt that is cached to its last token leaves nothing to compute", "recurrent state is not restored at the place of the hit"},
	Next:   []string{"the same server with prefix caching off", "another block or chunk size"},
	Run:    partialHit,
}, sizing{6, func(r room) Work {
	n := partingsIn(r)
	return asks(n+6, partingSentences*endpoint.TokensPerSentence+80, answerTokens)
}})

// partingSentences are the shared beginning, some hundred tokens.
const partingSentences = 14

// ownTokens are less than the question and its code take in any tokenizer: they are in no
// cache.
const ownTokens = 8

// partingsIn returns at how many places the prompts part: words in a row, which are a token
// or more each, so that seventeen meet every place within a block of 16.
func partingsIn(r room) int {
	n := 17
	for n < 70 && r.affords(asks(n+10, partingSentences*endpoint.TokensPerSentence+80, answerTokens)) {
		n++
	}
	return n
}

func partialHit(ctx context.Context, ep Subject) (gates.Finding, error) {
	if why := ep.Unable(endpoint.PrefixCache); why != "" {
		return gates.NotApply("%s", why), nil
	}
	n := partingsIn(ep.room("correctness/partial-hit"))
	clock := ep.clock("correctness/partial-hit")
	prose := ep.fresh()
	shared := strings.Fields(prose.Sentences(partingSentences))
	base := max(1, len(shared)-n)
	first := ep.part(ctx, shared, len(shared))
	if first.err != nil {
		return gates.Finding{}, first.err
	}
	var trials []trial
	cached := -1
	start := time.Now()
	for i := range n {
		if i >= 17 && !clock.affords(time.Since(start)/time.Duration(i)) {
			break
		}
		t := ep.part(ctx, shared, base+i)
		if t.err != nil {
			return gates.Finding{}, t.err
		}
		n := t.answer.Usage.Cached.Or(-1)
		if p, ok := t.answer.Usage.Prompt.N(); ok && n > max(0, p-ownTokens) {
			return gates.Fail("%d cached tokens are reported for a prompt of %d whose last sentences nobody sent before", n, p).Under(gates.Cache), nil
		}
		cached = max(cached, n)
		trials = append(trials, t)
	}
	edge, exact, err := ep.exactLengths(ctx)
	if err != nil {
		return gates.Finding{}, err
	}
	trials = append(trials, edge...)
	for _, t := range trials {
		if t.echo == gates.Foreign {
			return ep.blame(ctx, gates.Fail("an answer holds the code %s of another prompt with the same beginning", t.seen).With("%s", t.says()).
				Then("stop serving from this server to several users: one can read another's text"), gates.Cache), nil
		}
	}
	if f, bad, err := ep.onlyExact(ctx, trials[:len(trials)-len(edge)], edge, exact); err != nil || bad {
		return f, err
	}
	var lost *trial
	wrong, control := 0, 0
	for i, t := range trials {
		if !t.right() {
			lost = &trials[i]
			wrong++
		}
	}
	const controls = 8
	for range controls {
		if wrong == 0 {
			break
		}
		again := ep.put(ctx, ep.fresh().Sentences(partingSentences), ep.Canaries().Issue())
		if again.err != nil {
			return gates.Finding{}, again.err
		}
		if !again.right() {
			control++
		}
	}
	chance := moreOften(wrong, len(trials), control, controls)
	how := fmt.Sprintf("%d prompts part at %d places of one beginning", len(trials)-len(edge), len(trials)-len(edge))
	if exact > 0 {
		how += fmt.Sprintf(", %d are of exactly %d tokens", len(edge), exact)
	}
	switch {
	case wrong > 0 && chance < surely:
		f := gates.Fail("%d of %d answers behind a cached beginning are wrong, and %d of %d behind a new one of that length", wrong, len(trials), control, controls)
		return ep.blame(ctx, f.With("%s", how).With("%s", lost.says()), gates.Cache), nil
	case wrong > 0 && control == 0 && chance < 5*surely:
		return gates.Warn("%d of %d answers behind a cached beginning are wrong, and none of %d behind a new one", wrong, len(trials), controls).With("%s", how).With("%s", lost.says()).Under(gates.Cache), nil
	case wrong*2 > len(trials):
		return gates.Skip("this model gives back %d of %d codes behind %d sentences, new ones too: too few to judge a cache by", len(trials)-wrong, len(trials), partingSentences), nil
	case cached == 0:
		return gates.Skip("the cache was not exercised: no cached tokens are reported for prompts that share their beginning").With("%s", how).
			Because("prefix caching is off, its blocks are longer than these prompts, or the server does not report it"), nil
	}
	f := gates.Pass("%d of %d right: %s", len(trials)-wrong, len(trials), how)
	if wrong > 0 {
		f = f.With("behind a new beginning %d of %d are wrong too: %s", control, controls, lost.says())
	}
	if cached > 0 {
		f = f.With("up to %d tokens came from the cache", cached)
	}
	return f, nil
}

// part asks for a code of its own behind the first words of a shared beginning.
func (s Subject) part(ctx context.Context, shared []string, words int) trial {
	return s.put(ctx, strings.Join(shared[:words], " ")+".", s.Canaries().Issue())
}

// onlyExact finds the prompts of an exact length wrong, new ones too, where all others are
// right.
func (s Subject) onlyExact(ctx context.Context, others, edge []trial, exact int) (gates.Finding, bool, error) {
	wrong := func(list []trial) int {
		n := 0
		for _, t := range list {
			if !t.right() {
				n++
			}
		}
		return n
	}
	// The first of each is cold, the others warm: wrong are all of them, or all that are warm.
	if len(edge) < 2 || wrong(edge[1:]) < len(edge)-1 || wrong(others)*4 > len(others) {
		return gates.Finding{}, false, nil
	}
	again, _, err := s.exactLengths(ctx)
	if err != nil || len(again) < 2 || wrong(again[1:]) < len(again)-1 || again[0].right() != edge[0].right() {
		return gates.Finding{}, false, err
	}
	f := gates.Fail("prompts of exactly %d tokens are answered wrongly, %d of %d, and those a few tokens shorter or longer rightly", exact, wrong(edge)+wrong(again), len(edge)+len(again))
	f = f.With("%s", edge[1].says()).Because("the last block or chunk of a prompt that fills it").Then("another block or chunk size")
	return s.blame(ctx, f, gates.Cache), true, nil
}

// edgeTokens is a whole number of blocks in every engine's usual sizes.
const edgeTokens = 128

// exactLengths makes a prompt whose length is a multiple of the block by the server's own
// count, and puts it cold and twice warm. exact is 0 where the server does not count or the
// length could not be met.
func (s Subject) exactLengths(ctx context.Context) (trials []trial, exact int, err error) {
	c := s.Canaries().Issue()
	prose := s.fresh().Sentences(8)
	fill := 0
	for range 4 {
		t := s.put(ctx, prose+strings.Repeat(" the", fill)+" end.", c)
		if t.err != nil {
			return nil, 0, t.err
		}
		n, ok := t.answer.Usage.Prompt.N()
		if !ok {
			return nil, 0, nil
		}
		missing := (edgeTokens - n%edgeTokens) % edgeTokens
		if missing > 0 {
			fill += missing
			continue
		}
		trials = append(trials, t)
		for range 2 {
			again := s.put(ctx, prose+strings.Repeat(" the", fill)+" end.", c)
			if again.err != nil {
				return nil, 0, again.err
			}
			trials = append(trials, again)
		}
		return trials, n, nil
	}
	return nil, 0, nil
}
