package hardware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/prefill",
	Doc: `prompts of every length are read, one token below, at and above the sizes of blocks and chunks

A prompt is computed in tiles, stored in blocks and cut into chunks, and each edge has a kernel or a branch of its own: the last block that is just
full, the first token of a second chunk, the variant for long rows. Prompts are made to the token around 32, 64, 256, 512, 2048 and 8192, each from
another beginning, as far as the context and the time allow. Failed, empty and degenerate answers count; a wrong code counts where it is wrong three
times at one length and right at shorter and longer ones, since a small model only loses codes from some length on.`,
	Since:  "0.4.0",
	Cost:   1800 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Server},
	Modes:  []string{"NUM-16", "NUM-19", "CAC-09"},
	Faults: []string{"prefill-garbage", "prefill-dies", "boundary"},
	Causes: []string{"an attention kernel that is wrong at the edge of a tile, a block or a chunk", "the kernel for long prompts is missing or wrong on this device"},
	Next:   []string{"another attention backend", "chunked prefill off, or chunks of another size"},
	Run:    prefill,
})

// edges are the lengths around which prompts are made: blocks of the KV cache, tiles and
// chunks are powers of two.
var edges = []int{32, 64, 256, 512, 2048, 8192}

// words fill a prompt up: each is one token in common tokenizers.
var words = strings.Fields("house water tree green stone bird river light table paper horse music bread time way day man world life hand part child eye")

// filler is so many words.
func filler(n int) func(uint64) string {
	return func(seed uint64) string {
		r := rand.New(rand.NewPCG(seed, 0x66696c6c))
		b := strings.Builder{}
		b.WriteString("Words:") // a word at the very beginning may be two tokens
		for range max(n, 0) {
			b.WriteString(" " + words[r.IntN(len(words))])
		}
		return b.String() + "."
	}
}

// ruler makes prompts of a length in tokens, by what the server counted of the ones before.
type ruler struct {
	least int     // tokens of a prompt without any filler
	slope float64 // tokens of a word
}

// What a word may cost in any tokenizer that was seen.
const leastSlope, mostSlope = 0.7, 5

// measure learns what words cost. Where the server counts nothing a word is taken for a token.
func (s Subject) measure(ctx context.Context) (ruler, error) {
	const many = 40
	none, some := s.asking(filler(0)).put(ctx, s), s.asking(filler(many)).put(ctx, s)
	if err := errors.Join(none.err, some.err); err != nil {
		return ruler{}, err
	}
	r := ruler{least: none.answer.Usage.Prompt.Or(24), slope: 1}
	r.learn(many, some.answer.Usage.Prompt, r.least+many)
	return r, nil
}

// words returns how many make a prompt of that length.
func (r ruler) words(tokens int) int {
	return int(float64(tokens-r.least)/r.slope + 0.5)
}

// learn takes another slope from a prompt that missed its length: of a tokenizer that cuts the
// words up a longer prompt says more.
func (r *ruler) learn(words int, got gates.Count, wanted int) {
	const near = 2
	n, ok := got.N()
	if !ok || words <= 0 || n <= wanted+near && n >= wanted-near {
		return
	}
	// A server that miscounts, or drops what it is sent, must not make prompts endless.
	if slope := float64(n-r.least) / float64(words); slope >= leastSlope && slope <= mostSlope {
		r.slope = slope
	}
}

// rung is one length and what came of it.
type rung struct {
	tokens int // asked for
	step
}

func prefill(ctx context.Context, s Subject) (gates.Finding, error) {
	able, why, err := s.control(ctx)
	if err != nil || why != "" {
		return gates.Skip("nothing to compare with: %s", why), err
	}
	r, err := s.measure(ctx)
	if err != nil {
		return gates.Finding{}, err
	}
	clock, note := s.begin(), ""
	var rungs []rung
	last := time.Duration(0)
climb:
	for i, edge := range edges {
		for _, tokens := range []int{edge - 1, edge, edge + 1} {
			grows := time.Duration(1)
			if i > 0 && tokens < edge {
				grows = time.Duration(edge / edges[i-1])
			}
			switch {
			case tokens < r.least:
				continue
			case tokens+64 > s.ContextTokens(tokens+64):
				note = fmt.Sprintf("longer ones do not fit into the context of %d tokens", s.ContextTokens(0))
				break climb
			case len(rungs) > 0 && !clock.affords(last*grows):
				note = fmt.Sprintf("longer ones were left out after %v", time.Since(clock.began).Round(time.Second))
				break climb
			}
			start := time.Now()
			n := r.words(tokens)
			t := s.asking(filler(n)).put(ctx, s)
			last = time.Since(start)
			r.learn(n, t.answer.Usage.Prompt, tokens)
			var f *endpoint.Failure
			if errors.As(t.err, &f) && f.Kind == endpoint.Refused {
				note = "a prompt of " + fmt.Sprint(tokens) + " tokens is refused: " + f.Said
				break climb
			}
			if t.ill() != "" {
				if f, err := s.illAt(ctx, r, t, tokens, rungs); err != nil || f.Status() != 0 {
					return f, err
				}
			}
			rungs = append(rungs, rung{tokens: tokens, step: t})
		}
	}
	if len(rungs) == 0 {
		return gates.Skip("no prompt of a length that is looked at fits: %s", note), nil
	}
	if able {
		if f, err := s.wrongBetween(ctx, r, rungs); err != nil || f.Status() != 0 {
			return f, err
		}
	}
	return prefilled(s, able, rungs, note), nil
}

// prefilled says how far the prompts went.
func prefilled(s Subject, able bool, rungs []rung, note string) gates.Finding {
	right := 0
	var lengths []string
	for _, g := range rungs {
		if g.right(s) {
			right++
		}
		lengths = append(lengths, fmt.Sprint(g.answer.Usage.Prompt.Or(0)))
	}
	f := gates.Pass("%d prompts of %d to %d tokens are read and answered", len(rungs), rungs[0].tokens, rungs[len(rungs)-1].tokens)
	if able {
		f = f.With("%d of %d codes came back; losing them from some length on is the model's own, and stage 3 looks at it", right, len(rungs))
	}
	if _, counted := rungs[0].answer.Usage.Prompt.N(); counted {
		f = f.With("tokens as the server counted them: %s", strings.Join(lengths, " "))
	} else {
		f = f.With("the server counts no tokens: the lengths are estimates")
	}
	if note != "" {
		f = f.With("%s", note)
	}
	return f
}

// illAt asks once more at a length, and something short before it: no finding means that it
// did not happen again.
func (s Subject) illAt(ctx context.Context, r ruler, t step, tokens int, below []rung) (gates.Finding, error) {
	short := s.asking(sentences(1)).put(ctx, s)
	again := s.asking(filler(r.words(tokens))).put(ctx, s)
	if ctx.Err() != nil {
		return gates.Finding{}, context.Cause(ctx)
	}
	most := r.least
	if len(below) > 0 {
		most = below[len(below)-1].tokens
	}
	if again.ill() == "" && !again.turnedAway() {
		return gates.Warn("a prompt of %d tokens was once no answer, and not again", tokens).With("%s", t.ill()), nil
	}
	f := gates.Fail("prompts of %d tokens are not answered sanely, of %d they are", tokens, most).With("%s", t.illness()).With("again: %s", again.illness())
	if short.err != nil || short.ill() != "" {
		f = f.With("a short one after it: %s", short.illness())
	}
	return f, nil
}

// wrongBetween looks for lengths at which the code is wrong three times, and right at shorter
// and at longer ones: no model's limit has that shape. No finding means none.
func (s Subject) wrongBetween(ctx context.Context, r ruler, rungs []rung) (gates.Finding, error) {
	lost := func(g rung) bool { return !g.right(s) }
	right := 0
	for _, g := range rungs {
		if !lost(g) {
			right++
		}
	}
	if 3*right < 2*len(rungs) {
		return gates.Finding{}, nil
	}
	var bad []string
	var saw step
	for i, g := range rungs {
		if !lost(g) || i == 0 || !slices.ContainsFunc(rungs[i+1:], func(o rung) bool { return !lost(o) }) {
			continue
		}
		again := 0
		for range 2 {
			if t := s.asking(filler(r.words(g.tokens))).put(ctx, s); !t.right(s) {
				again++
			}
		}
		if ctx.Err() != nil {
			return gates.Finding{}, context.Cause(ctx)
		}
		if again == 2 {
			bad, saw = append(bad, fmt.Sprint(g.tokens)), g.step
		}
	}
	if bad == nil {
		return gates.Finding{}, nil
	}
	return gates.Fail("prompts of %s tokens are answered wrongly, three of three, and shorter and longer ones rightly", strings.Join(bad, ", ")).
		With("%s", saw.says()).With("%d of %d lengths are right", right, len(rungs)), nil
}
