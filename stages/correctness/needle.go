package correctness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/needle",
	Doc: `a code in a long prompt is found at every depth

Windows are smaller than declared, prompts are cut at the head without a word, attention or RoPE kernels fail from one length on, blocks in the middle are
lost. The grid is length by position; the haystack is varied prose with three codes in it, told apart by a word where the model can, so that each question has
two decoys. A cliff, a window and a band with sharp edges are failures; a slow decline is the model's, and the grid shows it as such. Lengths grow as far as
the context and the time for this check allow, and the verdict says how far.`,
	Since:  "0.1.0",
	Cost:   20 * time.Second,
	Modes:  []string{"CTX-01", "CTX-03", "CTX-06", "CTX-07", "CTX-08", "CTX-09", "CTX-10", "CTX-12", "CTX-13", "NUM-10", "NUM-16", "OPS-03"},
	Faults: []string{"needle-loss", "salad-deep", "wrong-digit-deep", "band", "window-only", "decoy", "hangs-deep", "dies-deep", "declines-deep", "quiet-kv"},
	Causes: []string{"the prompt is cut to a smaller window than declared", "an attention or RoPE kernel is wrong beyond a length", "the KV cache is quantised without scales"},
	Next:   []string{"the server's context option, set explicitly", "another attention backend"},
	Run:    needle,
}, sizing{14, func(r room) Work { return needlePlanOf(r).work() }})

// needlePlan is the grid.
type needlePlan struct {
	sentences []int     // of the haystack, ascending; the first is the control
	positions []float64 // of the needle, 0 the head and 1 the end
}

// controlSentences are a haystack in which every model that can do it at all finds a code.
const controlSentences = 4

func (p needlePlan) work() Work {
	w := Work{}
	for _, n := range p.sentences {
		w = w.plus(asks(len(p.positions)+1, n*endpoint.TokensPerSentence+80, answerTokens))
	}
	return w
}

// needlePlanOf takes as many positions and lengths as the room holds: first far, then fine.
func needlePlanOf(r room) needlePlan {
	context := r.context
	if context == 0 { // 2,000 tokens are what every one has
		context = 3400
	}
	most := context * 85 / 100 / (endpoint.TokensPerSentence + 1)
	best := needlePlan{[]int{controlSentences, 16}, positionsOf(3)}
	for i, step := range []struct{ positions, factor int }{{3, 4}, {5, 4}, {5, 2}, {7, 2}, {11, 2}} {
		if i >= 3 && r.most(1) < i-1 {
			break // two default budgets for seven positions, three for eleven
		}
		p := needlePlan{[]int{controlSentences}, positionsOf(step.positions)}
		for n := 16; n < most; n *= step.factor {
			p.sentences = append(p.sentences, n)
		}
		p.sentences = append(p.sentences, max(most, controlSentences+1))
		for len(p.sentences) > 2 && !r.affords(p.work()) {
			p.sentences = p.sentences[:len(p.sentences)-1]
		}
		if p.deepest() < best.deepest() {
			break
		}
		if best = p; p.deepest() < most {
			break // further before finer
		}
	}
	return best
}

func (p needlePlan) deepest() int { return p.sentences[len(p.sentences)-1] }

// positionsOf spreads n positions from near the head to near the end.
func positionsOf(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 0.03 + 0.94*float64(i)/float64(n-1)
	}
	return out
}

// haystack is one length and its cells, one for each position.
type haystack struct {
	sentences, tokens int
	cells             []trial
}

func (h haystack) found() int {
	n := 0
	for _, t := range h.cells {
		if t.right() {
			n++
		}
	}
	return n
}

// hunt is a needle check under way.
type hunt struct {
	Subject
	plan needlePlan
	// apart says that the model tells three codes apart by a word; without it there is one.
	apart bool
	hays  []haystack
	// broken are the cells of a shape that no model's own limit has.
	broken map[[2]int]bool
	notes  []string
}

func needle(ctx context.Context, ep Subject) (gates.Finding, error) {
	h := &hunt{Subject: ep, plan: needlePlanOf(ep.room("correctness/needle")), broken: map[[2]int]bool{}}
	control, err := h.control(ctx)
	if err != nil {
		return gates.Finding{}, err
	}
	if control.found() < len(control.cells) {
		return gates.Skip("this model finds %d of %d codes in %d tokens: too few to judge it at length", control.found(), len(control.cells), control.tokens).
			With("%s", control.cells[0].says()), nil
	}
	h.hays = []haystack{control}
	clock := ep.clock("correctness/needle")
	for _, n := range h.plan.sentences[1:] {
		start := time.Now()
		hay, err := h.grid(ctx, n)
		if tooLong(err) {
			h.notes = append(h.notes, fmt.Sprintf("about %d tokens are refused: %v", n*endpoint.TokensPerSentence, err))
			break // an error and no silent cut: that is how it should be
		}
		if err != nil {
			f, err := h.died(ctx, n*endpoint.TokensPerSentence, err, func() error { _, err := h.grid(ctx, n); return err })
			return h.drawn(f), err
		}
		h.hays = append(h.hays, hay)
		if f, bad, err := h.judge(ctx); err != nil || bad {
			return f, err
		}
		if !clock.affords(time.Since(start) * 2) {
			break
		}
	}
	return h.summary(), nil
}

// control finds out, short, whether the model tells three codes apart, or finds one.
func (h *hunt) control(ctx context.Context) (haystack, error) {
	h.apart = true
	hay, err := h.grid(ctx, controlSentences)
	if err != nil || hay.found() == len(hay.cells) {
		return hay, err
	}
	h.apart = false
	return h.grid(ctx, controlSentences)
}

// grid asks at each position of one length.
func (h *hunt) grid(ctx context.Context, sentences int) (haystack, error) {
	out := haystack{sentences: sentences}
	for i := range h.plan.positions {
		t := h.cell(ctx, sentences, i)
		if t.err != nil {
			return out, t.err
		}
		out.tokens = max(out.tokens, t.answer.Usage.Prompt.Or(sentences*endpoint.TokensPerSentence))
		out.cells = append(out.cells, t)
	}
	return out, nil
}

// cell asks for the code at one position, in a haystack of its own.
func (h *hunt) cell(ctx context.Context, sentences, position int) trial {
	return h.at(ctx, sentences, h.plan.positions[position], position)
}

func (h *hunt) at(ctx context.Context, sentences int, position float64, salt int) trial {
	want := h.Canaries().Issue()
	t := trial{want: want}
	prose := h.fresh()
	place := func(p float64) int { return min(sentences-1, int(p*float64(sentences))) }
	needles := map[int]string{place(position): " The secret code is " + want.String() + "."}
	ask := "What is the secret code?"
	own := []gates.Canary{}
	if h.apart {
		colours := []string{"blue", "red", "green"}
		colour := colours[salt%3]
		needles[place(position)] = " The " + colour + " code is " + want.String() + "."
		ask = "What is the " + colour + " code?"
		for k := 1; k <= 2; k++ { // the decoys, elsewhere
			decoy := h.Canaries().Issue()
			own = append(own, decoy)
			p := position + float64(k)/3
			if p >= 1 {
				p--
			}
			needles[place(p)] += " The " + colours[(salt+k)%3] + " code is " + decoy.String() + "."
		}
	}
	var b strings.Builder
	for i := range sentences {
		b.WriteString(prose.Sentence())
		b.WriteString(needles[i])
		b.WriteByte(' ')
	}
	t.request = endpoint.Chat(b.String() + ask).MaxTokens(64)
	t.answer, t.err = h.Ask(ctx, t.request)
	if t.err == nil {
		t.echo, t.seen = h.Canaries().Judge(t.answer.Visible(), want, own...)
	}
	return t
}

// died is the finding where a prompt of some length gets no answer at all, while short ones
// did; an error that says nothing about the length is passed on. What happens to one request
// and to none of two more like it is a warning: a connection can break.
func (s Subject) died(ctx context.Context, tokens int, err error, again func() error) (gates.Finding, error) {
	var f *endpoint.Failure
	if ended(ctx) || !errors.As(err, &f) || f.Kind == endpoint.Refused || f.Kind == endpoint.Busy {
		return gates.Finding{}, err
	}
	answered := 0
	for answered < 2 && again() == nil {
		answered++
	}
	if answered == 2 {
		return gates.Warn("one request of about %d tokens got no answer, and two more like it have one", tokens).With("%v", err).Under(gates.Depth), nil
	}
	out := gates.Fail("no answer at about %d tokens, while short questions have one", tokens).With("%v", err)
	if alive := s.floor(ctx); alive.unanswered() {
		out = out.With("and none to a short question afterwards: %v", alive.err).Then("restart the server", "a lower limit on the length of prompts, or a smaller chunk")
	} else {
		out = out.With("a short question is answered afterwards")
	}
	return out.Because("a device time-out, memory, or a kernel that fails at this length").Under(gates.Depth), nil
}

// judge judges the last length against the ones before it.
func (h *hunt) judge(ctx context.Context) (gates.Finding, bool, error) {
	last := len(h.hays) - 1
	g, before := h.hays[last], h.hays[last-1]
	for _, t := range g.cells {
		if t.echo == gates.Foreign {
			return h.blame(ctx, gates.Fail("an answer at %d tokens holds the code %s of another request", g.tokens, t.seen).With("%s", t.says()), gates.Company), true, nil
		}
	}
	if f, cut := truncated(h.hays[0], before, g); cut {
		h.mark(last, func(int) bool { return true })
		return h.drawn(h.blame(ctx, f, gates.Depth)), true, nil
	}
	if g.found() == len(g.cells) {
		return gates.Finding{}, false, nil
	}
	for _, shape := range []func(context.Context) (gates.Finding, bool, error){h.cliff, h.window, h.band} {
		if f, bad, err := shape(ctx); err != nil || bad {
			if bad {
				f = h.drawn(h.blame(ctx, f, gates.Depth))
			}
			return f, bad, err
		}
	}
	return gates.Finding{}, false, nil
}

func (h *hunt) mark(row int, broken func(cell int) bool) {
	for i, t := range h.hays[row].cells {
		if !t.right() && broken(i) {
			h.broken[[2]int{row, i}] = true
		}
	}
}

// cliff is found where a length has none of its codes, and the one before all.
func (h *hunt) cliff(ctx context.Context) (gates.Finding, bool, error) {
	last := len(h.hays) - 1
	g, before := h.hays[last], h.hays[last-1]
	if g.found() > 0 || before.found() < len(before.cells) {
		return gates.Finding{}, false, nil
	}
	again, err := h.grid(ctx, g.sentences)
	if err != nil {
		return gates.Finding{}, false, err
	}
	// Half-way between the lengths a model that fades has faded a little; an engine that
	// breaks at some length has not.
	between, err := h.grid(ctx, (before.sentences+g.sentences)/2)
	if err != nil {
		return gates.Finding{}, false, err
	}
	if n := between.found(); again.found() > 0 || n > 0 && n < len(between.cells) {
		return gates.Finding{}, false, nil
	}
	h.mark(last, func(int) bool { return true })
	f := gates.Fail("a cliff: all codes found at %d tokens, none of %d at %d tokens", before.tokens, len(g.cells)+len(again.cells), g.tokens)
	return f.With("half-way, at %d tokens: %d of %d", between.tokens, between.found(), len(between.cells)).With("%s", g.cells[0].says()).
		With("%s", g.cells[len(g.cells)-1].says()), true, nil
}

// window is found where one distance from the end parts what is found from what is not, in
// two lengths and when asked again: everything before the last so many tokens is gone.
func (h *hunt) window(ctx context.Context) (gates.Finding, bool, error) {
	last := len(h.hays) - 1
	if last < 2 {
		return gates.Finding{}, false, nil
	}
	nearestLost, furthestFound, lost := 1<<30, 0, 0
	for _, g := range h.hays[1:] {
		for i, t := range g.cells {
			back := int((1 - h.plan.positions[i]) * float64(g.tokens))
			if t.right() {
				furthestFound = max(furthestFound, back)
			} else {
				nearestLost = min(nearestLost, back)
				lost++
			}
		}
	}
	if lost < 2 || nearestLost <= furthestFound {
		return gates.Finding{}, false, nil
	}
	g := h.hays[last]
	for i, t := range g.cells {
		again := h.cell(ctx, g.sentences, i)
		if again.err != nil {
			return gates.Finding{}, false, again.err
		}
		if again.right() != t.right() {
			return gates.Finding{}, false, nil
		}
	}
	if lost < 4 { // too few to tell a window from what a model forgets: twice more where it would be lost
		for i, t := range g.cells {
			if t.right() {
				continue
			}
			for range 2 {
				if again := h.cell(ctx, g.sentences, i); again.err != nil || again.right() {
					return gates.Finding{}, false, again.err
				}
			}
		}
	}
	for row := range h.hays {
		h.mark(row, func(int) bool { return true })
	}
	f := gates.Fail("a window: only the last %d to %d tokens of a prompt are seen", furthestFound, nearestLost)
	return f.With("%d codes further back are lost at %d lengths, none nearer", lost, len(h.hays)-1).With("%s", g.cells[0].says()).
		Because("the prompt is cut to its tail", "a sliding window is applied to all layers"), true, nil
}

// band is found where neighbouring positions are lost each time and those beside them never:
// a model that loses the middle does it by degrees.
func (h *hunt) band(ctx context.Context) (gates.Finding, bool, error) {
	last := len(h.hays) - 1
	g := h.hays[last]
	from := slices.IndexFunc(g.cells, func(t trial) bool { return !t.right() })
	to := from
	for to+1 < len(g.cells) && !g.cells[to+1].right() {
		to++
	}
	if from <= 0 || to >= len(g.cells)-1 {
		return gates.Finding{}, false, nil
	}
	for range 3 {
		for _, i := range []int{from - 1, from, to, to + 1} {
			again := h.cell(ctx, g.sentences, i)
			if again.err != nil {
				return gates.Finding{}, false, again.err
			}
			if again.right() != (i < from || i > to) {
				return gates.Finding{}, false, nil
			}
		}
	}
	lo, hi, err := h.edges(ctx, g.sentences, h.plan.positions[from-1], h.plan.positions[from], h.plan.positions[to], h.plan.positions[to+1])
	if err != nil {
		return gates.Finding{}, false, err
	}
	h.mark(last, func(i int) bool { return i >= from && i <= to })
	f := gates.Fail("a band: at %d tokens codes between %.0f and %.0f %% of the prompt are lost each time, and those beside it never", g.tokens, 100*lo, 100*hi)
	return f.With("%s", g.cells[from].says()).Because("KV blocks that are lost or overwritten", "a block table that is wrong beyond a size"), true, nil
}

// edges narrows a band down by halving: three steps on each side.
func (h *hunt) edges(ctx context.Context, sentences int, before, from, to, after float64) (lo, hi float64, err error) {
	for range 3 {
		for _, side := range []struct {
			in, out *float64
		}{{&from, &before}, {&to, &after}} {
			mid := (*side.in + *side.out) / 2
			t := h.at(ctx, sentences, mid, 0)
			if t.err != nil {
				return 0, 0, t.err
			}
			if t.right() {
				*side.out = mid
			} else {
				*side.in = mid
			}
		}
	}
	return from, to, nil
}

// truncated compares how much the prompt grew with how much its count did. Only growth
// is compared: a system prompt or template that the server adds is in every count. A cut
// takes the head, so the code near it must be gone too.
func truncated(control, before, g haystack) (gates.Finding, bool) {
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

// drawn adds the grid: what no model's limit explains is wrong, the rest is beyond it.
func (h *hunt) drawn(f gates.Finding) gates.Finding {
	var columns []string
	for _, p := range h.plan.positions {
		columns = append(columns, fmt.Sprintf("%.0f %%", 100*p))
	}
	var rows []gates.GridRow
	for r, hay := range h.hays {
		row := gates.GridRow{Label: fmt.Sprint(hay.tokens)}
		for i, t := range hay.cells {
			c := gates.Beyond
			switch {
			case t.right():
				c = gates.Right
			case h.broken[[2]int{r, i}]:
				c = gates.Wrong
			}
			row.Cells = append(row.Cells, c)
		}
		rows = append(rows, row)
	}
	g, err := gates.NewGrid("tokens", "position", columns, rows)
	if err != nil {
		return f
	}
	return f.Drawn(g)
}

func (h *hunt) summary() gates.Finding {
	found, cells := 0, 0
	var odd *trial
	for _, g := range h.hays {
		found += g.found()
		cells += len(g.cells)
		for i, t := range g.cells {
			if !t.right() {
				odd = &g.cells[i]
			}
		}
	}
	deepest := h.hays[len(h.hays)-1].tokens
	with := "one code in each"
	if h.apart {
		with = "three codes in each, told apart"
	}
	f := gates.Pass("%d of %d found, up to %d tokens (%s)", found, cells, deepest, with)
	if found < cells {
		f = gates.Warn("%d of %d found, up to %d tokens: a decline, not a cliff (%s)", found, cells, deepest, with).Under(gates.Depth).
			Because("the model's own limit at this length", "a fault of the engine at some lengths: compare with a known-good server").With("%s", odd.says())
	}
	for _, n := range h.notes {
		f = f.With("%s", n)
	}
	if context := h.ContextTokens(0); context > 0 && deepest*10 < context*8 {
		f = f.With("the declared context is %d tokens: beyond %d it was not looked at in the time for this check (--budget gives more)", context, deepest)
	}
	return h.drawn(f)
}
