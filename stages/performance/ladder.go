package performance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"infbench/arrival"
	"infbench/record"
)

// DefaultDepths are the prompt lengths of the ladder, as far as the context goes.
func DefaultDepths() []int {
	return []int{1 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10}
}

const (
	// rungAnswers are measured at each depth, after one that computes the prompt.
	rungAnswers = 5
	// deepest is the share of the context up to which a ladder goes.
	deepest = 0.9
)

// ladder measures decoding at one request in flight, from shallow to deep. A depth that would
// take longer than its share is left out with the reason: so are those beyond it.
func (w *work) ladder(ctx context.Context, s *Sweep, progress func(Progress)) {
	depths, left := w.depths()
	s.depthsLeft = append(s.depthsLeft, left...)
	perToken := time.Duration(0)
	one, err := arrival.Sessions(1, 0, arrival.DefaultSeed)
	if err != nil {
		return
	}
	limit := max(time.Minute, 3*w.c.PerLevel)
	for i, depth := range depths {
		if ctx.Err() != nil {
			s.depthsLeft = append(s.depthsLeft, leftOut(depths[i:], "the run was stopped"))
			return
		}
		if d := perToken * time.Duration(depth); d > limit {
			s.depthsLeft = append(s.depthsLeft, leftOut(depths[i:], fmt.Sprintf("a prompt of %d tokens would be computed for about %v, and a depth has %v", depth, d.Round(time.Second), limit)))
			return
		}
		at := Progress{Index: i, Of: len(depths), Depth: depth, Arrival: fmt.Sprintf("one request at a time at a depth of %d tokens", depth), Expected: perToken * time.Duration(depth)}
		l, err := w.watched(ctx, at, one, 0, progress, func() (levelResult, error) { return w.rung(ctx, one, depth, limit) })
		switch {
		case err != nil:
			s.depthsLeft = append(s.depthsLeft, leftOut(depths[i:], err.Error()))
			return
		case l.dead || len(l.void) > 0 && l.good == 0:
			s.depthsLeft = append(s.depthsLeft, leftOut(depths[i:], "no good answer: "+l.example))
			return
		}
		s.rungs = append(s.rungs, rung{depth, l})
		progress(Progress{Index: i, Of: len(depths), Depth: depth, Finished: true, Issued: l.issued - l.warmup, Good: l.good, Sofar: s})
		perToken = l.cold / time.Duration(depth)
		if n := l.promptTokens; n > 0 { // the next one is aimed at by what this one came to
			w.perSentence *= float64(n) / float64(depth)
		}
	}
}

func leftOut(depths []int, why string) string {
	text := ""
	for _, d := range depths {
		text += ", " + strconv.Itoa(d)
	}
	return "not measured at " + text[2:] + " tokens: " + why
}

// rung is one depth and what the checks need to know of it.
type rung struct {
	depth int
	levelResult
}

// depths returns what fits the context: where it ends between two steps, its end too.
func (w *work) depths() (fit []int, left []string) {
	context := w.ep.ContextTokens(0)
	most := int(float64(context)*deepest) - w.c.OutputTokens
	for _, d := range w.c.Depths {
		if context == 0 && d > 8<<10 {
			return fit, []string{fmt.Sprintf("not measured at %d tokens and more: the context is not known (--context N)", d)}
		}
		if context > 0 && d > most {
			if n := len(fit); most >= 256 && (n == 0 || most > fit[n-1]*3/2) {
				fit = append(fit, most)
			}
			return fit, []string{fmt.Sprintf("not measured at %d tokens and more: the context holds %d", d, context)}
		}
		fit = append(fit, d)
	}
	return fit, nil
}

// rung measures one depth.
func (w *work) rung(ctx context.Context, one arrival.ArrivalModel, depth int, limit time.Duration) (levelResult, error) {
	deep := newRepeated(w.ep, w.build, w.c.Seed+uint64(depth), depth)
	deep.sentences = max(1, int(float64(depth)/w.perSentence))
	was := *w
	w.script, w.c.Requests, w.c.PerLevel = deep, rungAnswers+1, limit
	defer func() { w.script, w.c.Requests, w.c.PerLevel = was.script, was.c.Requests, was.c.PerLevel }()
	return w.level(ctx, one)
}

// ladderOf returns the rungs for the record.
func (s *Sweep) ladderOf() ([]record.Rung, []string) {
	var out []record.Rung
	for _, r := range s.rungs {
		out = append(out, record.Rung{AimTokens: r.depth, Level: r.level})
	}
	return out, slices.Clone(s.depthsLeft)
}
