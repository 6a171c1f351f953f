package parity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// A Comparison is what two recordings show of each other. [Compare] makes one; the zero
// Comparison compared nothing.
type Comparison struct {
	target, reference string // origins
	prompts           int
	templates         []mismatch // prompts that have another length in tokens at the two
	equalTexts        int
	prefixes          []float64 // common part of each pair of texts
	byText            interval  // share of agreeing tokens, guessed from the texts
	positions         int
	agreed            int
	agreement         interval
	divergence        interval
	middle, worst     float64  // median and largest divergence
	chosen            interval // absolute error of the reference's chosen token
	chosenMax         float64  // its largest
	listed, listedMax float64  // mean and largest absolute error of all that both list
	listedN           int
	overlap           float64   // mean share of the shorter list that both name
	unusable          int       // positions whose numbers are no log probabilities
	strange           int       // answers of the same text whose tokens have other names
	differing         []finding // positions that chose differently, widest gap first
	widest            []finding // positions by divergence, largest first
	silent            []string  // who reports no log probabilities
	retold            int       // of the target: asked for log probabilities it says something else
	long              int       // of the target: longer than asked for
	calls             CallComparison
}

// mismatch is a prompt of which the two count another number of tokens.
type mismatch struct {
	id                string
	target, reference int
}

// finding is one position as evidence.
type finding struct {
	id, kind          string
	at                int
	divergence, gap   float64
	target, reference position
}

// Compare compares two recordings of the same prompts, as far as both go.
func Compare(target, reference Recording) (Comparison, error) {
	if target.set != reference.set {
		return Comparison{}, fmt.Errorf("the recordings are of other prompts (%s and %s): make both with one version of infbench", target.set, reference.set)
	}
	c := Comparison{target: target.origin, reference: reference.origin, prompts: min(len(target.answers), len(reference.answers))}
	list := prompts(c.prompts)
	if c.prompts = len(list); c.prompts == 0 {
		return Comparison{}, fmt.Errorf("nothing to compare: %d prompts were answered by the target and %d by the reference", len(target.answers), len(reference.answers))
	}
	if !target.Reports() {
		c.silent = append(c.silent, "the target")
	}
	if !reference.Reports() {
		c.silent = append(c.silent, "the reference")
	}
	var s sums
	for i, p := range list {
		a, b := target.answers[i], reference.answers[i]
		m, okM := a.promptTokens.N()
		n, okN := b.promptTokens.N()
		if okM && okN && m != n {
			c.templates = append(c.templates, mismatch{p.id(), m, n})
		}
		if a.long {
			c.long++
		}
		if a.retold {
			c.retold++
		}
		c.texts(a, b, &s)
		c.pair(p, a, b, &s)
	}
	c.finish(s)
	c.calls = compareCalls(target.calls, reference.calls)
	return c, nil
}

// sums gathers what the means are made of, by prompt.
type sums struct {
	divergences, chosen [][]float64
	listed              float64
	overlaps            []float64
	textTrials, textOff int
}

// texts compares the answers as a client sees them.
func (c *Comparison) texts(a, b answer, s *sums) {
	tokens := min(a.tokens.Or(len(a.positions)), b.tokens.Or(len(b.positions)))
	if tokens == 0 { // nobody counts: a token has about four characters
		tokens = max(1, utf8.RuneCountInString(a.text)/4)
	}
	if a.text == b.text {
		c.equalTexts++
		c.prefixes = append(c.prefixes, 1)
		s.textTrials += tokens
		return
	}
	x, y := []rune(a.text), []rune(b.text)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	share := float64(n) / float64(max(len(x), len(y)))
	c.prefixes = append(c.prefixes, share)
	s.textTrials += int(share*float64(tokens)) + 1
	s.textOff++
}

// pair compares two answers position by position, up to and including the first token in
// which they differ.
func (c *Comparison) pair(p prompt, a, b answer, s *sums) {
	var divergences, chosen []float64
	for i := range min(len(a.positions), len(b.positions)) {
		t, r := a.positions[i], b.positions[i]
		if t.nameless() || r.nameless() {
			break
		}
		if a.text == b.text && !t.same(r) && !a.retold && !b.retold {
			c.strange++ // the same text in other tokens
			break
		}
		if !t.valid() || !r.valid() {
			c.unusable++
			if !t.same(r) {
				break
			}
			continue
		}
		both := common(r.top, t.top)
		f := finding{id: p.id(), kind: p.kind, at: i + 1, divergence: divergence(both), target: t, reference: r}
		divergences = append(divergences, f.divergence)
		c.widest = append(c.widest, f)
		c.listing(both, t, r, s)
		if off, ok := chosenError(t, r); ok {
			chosen = append(chosen, off)
			c.chosenMax = max(c.chosenMax, off)
		}
		c.positions++
		if !t.same(r) {
			f.gap = gap(t, r)
			c.differing = append(c.differing, f)
			break
		}
		c.agreed++
	}
	s.divergences, s.chosen = append(s.divergences, divergences), append(s.chosen, chosen)
}

func (c *Comparison) listing(both []shared, t, r position, s *sums) {
	for _, x := range both {
		off := math.Abs(x.target - x.reference)
		s.listed += off
		c.listedN++
		c.listedMax = max(c.listedMax, off)
	}
	if n := min(len(t.top), len(r.top)); n > 0 {
		s.overlaps = append(s.overlaps, float64(len(both))/float64(n))
	}
}

// chosenError returns how far off the target's log probability of the reference's chosen
// token is; ok is false where the target does not list it.
func chosenError(t, r position) (off float64, ok bool) {
	if t.same(r) {
		return math.Abs(t.logprob - r.logprob), true
	}
	lp, ok := t.of(r)
	return math.Abs(lp - r.logprob), ok
}

// of returns the log probability that a position gives the chosen token of another.
func (p position) of(q position) (float64, bool) {
	for _, s := range p.top {
		if s.name == q.name && q.name != "" {
			return s.logprob, true
		}
	}
	return 0, false
}

// gap returns how implausible each side holds the other's choice: the smaller of the two
// distances in nats between its own choice and the other's, as far as the lists go.
func gap(t, r position) float64 {
	return min(distance(t, r), distance(r, t))
}

func distance(p, q position) float64 {
	if lp, ok := p.of(q); ok {
		return p.logprob - lp
	}
	if len(p.top) == 0 {
		return 0
	}
	return p.logprob - p.top[len(p.top)-1].logprob // at least
}

func (c *Comparison) finish(s sums) {
	var all []float64
	for _, d := range s.divergences {
		all = append(all, d...)
	}
	c.divergence, c.middle = meanOf(s.divergences), median(all)
	c.chosen = meanOf(s.chosen)
	c.agreement = shareOf(c.agreed, c.positions)
	c.byText = shareOf(s.textTrials-s.textOff, s.textTrials)
	if c.listedN > 0 {
		c.listed = s.listed / float64(c.listedN)
	}
	if n := len(s.overlaps); n > 0 {
		for _, o := range s.overlaps {
			c.overlap += o
		}
		c.overlap /= float64(n)
	}
	const shown = 3
	slices.SortStableFunc(c.widest, func(a, b finding) int { return cmp.Compare(b.divergence, a.divergence) })
	slices.SortStableFunc(c.differing, func(a, b finding) int { return cmp.Compare(b.gap, a.gap) })
	if len(c.widest) > 0 {
		c.worst = c.widest[0].divergence
	}
	c.widest = slices.Clone(c.widest[:min(shown, len(c.widest))])
}
