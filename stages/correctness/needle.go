package correctness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/needle",
	Doc: `a code in a long prompt is found at every depth

Windows are smaller than declared, prompts are cut at the head without a word, attention or RoPE kernels fail from one length on. The
grid is length by depth, the haystack varied prose. A cliff (all found at one length, none at the next, twice) is a failure; a slow
decline is the model's. Lengths grow as far as the context and the time for this check allow, and the verdict says how far.`,
	Since:  "0.1.0",
	Cost:   20 * time.Second,
	Modes:  []string{"CTX-01", "CTX-03", "CTX-06", "CTX-07", "CTX-08", "CTX-12", "NUM-16"},
	Faults: []string{"needle-loss", "salad-deep", "wrong-digit-deep"},
	Causes: []string{"the prompt is cut to a smaller window than declared", "an attention or RoPE kernel is wrong beyond a length", "the KV cache is quantised without scales"},
	Next:   []string{"the server's context option, set explicitly", "another attention backend"},
	Run:    needle,
}, sizing{5, func(room) Work { return asks(10, 100, 30) }})

// needleBudget is the time for going deeper; a grid is not begun that would not fit.
const needleBudget = 30 * time.Second

// grid is one length and its cells.
type grid struct {
	sentences, tokens int
	cells             []trial
}

func (g grid) found() int {
	n := 0
	for _, t := range g.cells {
		if t.right() {
			n++
		}
	}
	return n
}

func needle(ctx context.Context, ep Subject) (gates.Finding, error) {
	left := newBudget(needleBudget)
	control, cost, err := needleGrid(ctx, ep, 4)
	if err != nil {
		return gates.Finding{}, err
	}
	if control.found() < len(control.cells) {
		return gates.Skip("this model finds %d of %d codes in %d tokens: too few to judge it at length", control.found(), len(control.cells), control.tokens).
			With("%s", control.cells[0].says()), nil
	}
	grids := []grid{control}
	// Where the server does not tell its context, 2,000 tokens is what every one has.
	most := ep.ContextTokens(3400) * 6 / 10 / endpoint.TokensPerSentence
	for n := 16; n <= most && !ended(ctx); n *= 4 {
		if !left.affords(cost * 4) {
			break
		}
		g, took, err := needleGrid(ctx, ep, n)
		if tooLong(err) {
			break // an error and no silent cut: that is how it should be
		}
		if err != nil {
			return gates.Finding{}, err
		}
		cost = took
		grids = append(grids, g)
		if f, bad, err := judgeGrid(ctx, ep, grids); err != nil || bad {
			return f, err
		}
	}
	return summariseGrids(grids, ep.ContextTokens(0)), nil
}

// needleGrid asks at a tenth, half and nine tenths of one length.
func needleGrid(ctx context.Context, ep Subject, sentences int) (grid, time.Duration, error) {
	g := grid{sentences: sentences}
	start := time.Now()
	for i, depth := range []float64{0.1, 0.5, 0.9} {
		t := trial{want: ep.Canaries().Issue()}
		at := int(depth * float64(sentences))
		prose := endpoint.NewProse(uint64(sentences*10+i) ^ uint64(t.want.String()[0])<<32)
		text := strings.TrimSpace(prose.Sentences(at) + " The secret code is " + t.want.String() + ". " + prose.Sentences(sentences-at) + " What is the secret code?")
		t.answer, t.err = ep.Ask(ctx, endpoint.Chat(text).MaxTokens(64))
		if t.err != nil {
			return g, 0, t.err
		}
		t.judge(ep)
		g.tokens = max(g.tokens, t.answer.Usage.Prompt.Or(sentences*endpoint.TokensPerSentence))
		g.cells = append(g.cells, t)
	}
	return g, time.Since(start), nil
}

// judgeGrid judges the last length against the ones before it.
func judgeGrid(ctx context.Context, ep Subject, grids []grid) (gates.Finding, bool, error) {
	g, before := grids[len(grids)-1], grids[len(grids)-2]
	for _, t := range g.cells {
		if t.echo == gates.Foreign {
			return gates.Fail("an answer at %d tokens holds the code %s of another request", g.tokens, t.seen).With("%s", t.says()), true, nil
		}
	}
	if f, cut := truncated(grids[0], before, g); cut {
		return f, true, nil
	}
	if g.found() > 0 || before.found() < len(before.cells) {
		return gates.Finding{}, false, nil
	}
	again, _, err := needleGrid(ctx, ep, g.sentences)
	if err != nil {
		return gates.Finding{}, true, err
	}
	// Half-way between the lengths a model that fades has faded a little; an engine that
	// breaks at some length has not.
	between, _, err := needleGrid(ctx, ep, (before.sentences+g.sentences)/2)
	if err != nil {
		return gates.Finding{}, true, err
	}
	if n := between.found(); again.found() > 0 || n > 0 && n < len(between.cells) {
		return gates.Finding{}, false, nil
	}
	f := gates.Fail("a cliff: all codes found at %d tokens, none of %d at %d tokens", before.tokens, len(g.cells)+len(again.cells), g.tokens)
	return f.With("half-way, at %d tokens: %d of %d", between.tokens, between.found(), len(between.cells)).With("%s", g.cells[0].says()).With("%s", g.cells[2].says()), true, nil
}

// truncated compares how much the prompt grew with how much its count did. Only growth
// is compared: a system prompt or template that the server adds is in every count. A cut
// takes the head, so the code at a tenth of the depth must be gone too.
func truncated(control, before, g grid) (gates.Finding, bool) {
	a, okA := control.cells[0].answer.Usage.Prompt.N()
	b, okB := before.cells[0].answer.Usage.Prompt.N()
	c, okC := g.cells[0].answer.Usage.Prompt.N()
	if !okA || !okB || !okC || before.sentences <= control.sentences || b <= a || g.cells[0].right() {
		return gates.Finding{}, false
	}
	want := float64(b-a) / float64(before.sentences-control.sentences) * float64(g.sentences-before.sentences)
	if got := float64(c - b); got >= 0.6*want {
		return gates.Finding{}, false
	}
	return gates.Fail("the prompt is cut without a word: %d sentences more are counted as %d tokens more, about %.0f were sent", g.sentences-before.sentences, c-b, want).
		With("at the head: %s", g.cells[0].says()), true
}

// tooLong reports whether the server refused a prompt for its length.
func tooLong(err error) bool {
	var f *endpoint.Failure
	return errors.As(err, &f) && f.Kind == endpoint.Refused && (f.Status == 400 || f.Status == 413 || f.Status == 422)
}

func summariseGrids(grids []grid, context int) gates.Finding {
	found, cells := 0, 0
	var lines []string
	for _, g := range grids {
		found += g.found()
		cells += len(g.cells)
		row := ""
		for _, t := range g.cells {
			if t.right() {
				row += "█"
			} else {
				row += "·"
			}
		}
		lines = append(lines, fmt.Sprintf("%6d tokens %s %d/%d (depth 10, 50, 90 %%)", g.tokens, row, g.found(), len(g.cells)))
	}
	deepest := grids[len(grids)-1].tokens
	f := gates.Pass("%d of %d found, up to %d tokens", found, cells, deepest)
	if found < cells {
		f = gates.Warn("%d of %d found, up to %d tokens: a decline, not a cliff", found, cells, deepest).Because("the model's own limit at this length", "a fault of the engine at some lengths: compare with a known-good server")
	}
	for _, l := range lines {
		f = f.With("%s", l)
	}
	if context > 0 && deepest*2 < context {
		f = f.With("the declared context is %d tokens: beyond %d it was not looked at in the time for this check", context, deepest)
	}
	return f
}
