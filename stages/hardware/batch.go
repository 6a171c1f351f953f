package hardware

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/batch",
	Doc: `answers stay sane and right when 2, 4, 8 and more streams decode at once

A batch of another size is another kernel: another tile, another captured graph, the kernel for many rows in place of that for one. Reports
are of garbage above N streams and of single sizes that are wrong, while one request alone is perfect. All streams of a size start together;
the first size at which answers fail, stay empty, are degenerate, or are mostly wrong is named, once it has happened twice and the same
questions are answered alone.`,
	Since:  "0.4.0",
	Cost:   900 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Server},
	Modes:  []string{"CON-01", "CON-02", "NUM-07", "NUM-19"},
	Faults: []string{"batch-garbage", "batch-size-wrong", "salad-above-4", "wrong-digit-above-4", "one-token-above-3", "empty-above-5", "http500-above-6", "crosstalk"},
	Causes: []string{"a batched kernel or captured graph that is wrong on this device", "no kernel for batches of that size", "per-slot state mixed between requests"},
	Next:   []string{"the same server with the largest batch set below the size that is named", "graphs off, then another attention backend"},
	Run:    batch,
})

// DefaultStreams is how many streams are tried where nobody says how many there will be: a
// server that fails with these is broken, whatever it is meant to carry.
const DefaultStreams = 16

const mostStreams = 256

// streams returns how many streams are tried at once: what the load will bring, and no more
// than the server runs at once.
func (s Subject) streams() int {
	n := s.Streams
	if n == 0 {
		n = DefaultStreams
	}
	return min(n, mostStreams, s.Build().Slots.Or(mostStreams))
}

func batch(ctx context.Context, s Subject) (gates.Finding, error) {
	top := s.streams()
	if top < 2 {
		return gates.NotApply("the server runs one request at a time"), nil
	}
	able, why, err := s.control(ctx)
	if err != nil || why != "" {
		return gates.Skip("nothing to compare with: %s", why), err
	}
	clock := s.begin()
	good, peak, away, note := 1, 0, 0, ""
	last := time.Duration(0)
	for size := 2; ; size = min(2*size, top) {
		if size > 2 && !clock.affords(2*last) {
			note = fmt.Sprintf("sizes up to %d were left out for time", top)
			break
		}
		start := time.Now()
		b, err := s.burst(ctx, size, able)
		if err != nil {
			return gates.Finding{}, err
		}
		last, peak, away = time.Since(start), max(peak, overlap(b.steps)), away+b.away
		if b.what != "" {
			f, err := s.named(ctx, b, good, size, able)
			if err != nil || f.Status() == gates.Failed || f.Status() == gates.Warned {
				return f, err
			}
			note = f.Summary()
		}
		if good = size; size == top {
			break
		}
	}
	if away > 0 { // for want of room, or because it died
		if t := s.asking(sentences(1)).put(ctx, s); t.err != nil {
			return gates.Fail("after %d streams at once the server answers one alone no more", good).With("%v", t.err), nil //nolint:nilerr // that it fails is the finding
		}
	}
	said := fmt.Sprintf("1 to %d streams at once", good)
	if !able {
		said += "; this model gives codes back not always, so that only sanity was judged"
	}
	f := gates.Pass("%s", said)
	switch {
	case peak == 1:
		f = gates.Skip("the answers to %d requests sent together never overlapped: no batch was decoded", good)
	case peak < good:
		f = f.With("at most %d were seen to decode at the same time", peak)
	}
	if away > 0 {
		f = f.With("%d requests were turned away for want of room", away)
	}
	if note != "" {
		f = f.With("%s", note)
	}
	return f, nil
}

// A burst is what came of some requests at once.
type burst struct {
	steps []step
	away  int // were turned away
	// what says what is wrong with them, "" for nothing; bad are those that it is about.
	what string
	bad  []step
}

// burst puts different questions at one moment. Codes are judged where the model can give
// them back.
func (s Subject) burst(ctx context.Context, size int, able bool) (burst, error) {
	lengths := []int{1, 4, 2, 8}
	steps := make([]step, size)
	for i := range steps {
		steps[i] = s.asking(sentences(lengths[i%len(lengths)]))
	}
	b := burst{steps: s.together(ctx, steps)}
	if ctx.Err() != nil {
		return b, context.Cause(ctx)
	}
	var ill, wrong, foreign []step
	for _, t := range b.steps {
		switch {
		case t.turnedAway():
			b.away++
		case t.ill() != "":
			ill = append(ill, t)
		case t.echo(s) == gates.Foreign:
			foreign = append(foreign, t)
		case !t.right(s):
			wrong = append(wrong, t)
		}
	}
	switch {
	case len(foreign) > 0:
		b.what, b.bad = "hold the code of another request", foreign
	case len(ill) > 0:
		b.what, b.bad = "are no answers", ill
	case able && len(wrong) >= 2 && 2*len(wrong) >= size: // fewer may be a model in two minds
		b.what, b.bad = "are wrong", wrong
	}
	return b, nil
}

// named tells whether it is the size that makes answers bad, and which is the smallest: the
// same questions alone are the control, and it must happen again.
func (s Subject) named(ctx context.Context, first burst, good, size int, able bool) (gates.Finding, error) {
	alone, saw := 0, first.bad[0]
	asked := first.bad[:min(3, len(first.bad))]
	for _, t := range asked {
		if t = t.put(ctx, s); t.ill() == "" && (!able || t.right(s)) {
			alone++
		}
	}
	again, err := s.burst(ctx, size, able)
	if err != nil {
		return gates.Finding{}, err
	}
	detail := saw.says()
	if what := saw.ill(); what != "" {
		detail = what
	}
	dead := alone == 0 && saw.err != nil // it took the server with it
	switch {
	case alone == 0 && !dead:
		return gates.Pass("with %d streams at once %d answers %s, and alone they do so too", size, len(first.bad), first.what), nil
	case again.what == "" && first.what == "are wrong":
		return gates.Pass("with %d streams at once %d answers %s once, and not again", size, len(first.bad), first.what), nil
	case again.what == "" && first.what != "hold the code of another request":
		return gates.Warn("with %d streams at once %d answers %s once, and not again", size, len(first.bad), first.what).With("%s", detail), nil
	}
	lowest, worst := size, first
	for low := good; !dead && lowest-low > 1; {
		mid := (low + lowest) / 2
		b, err := s.burst(ctx, mid, able)
		if err == nil && b.what == "" { // requests that are sent together do not always meet
			b, err = s.burst(ctx, mid, able)
		}
		switch {
		case err != nil:
			return gates.Finding{}, err
		case b.what != "":
			lowest, worst = mid, b
		default:
			low = mid
		}
	}
	f := gates.Fail("from %d streams at once on answers %s: %d of %d", lowest, worst.what, len(worst.bad), lowest)
	f = f.With("%s", detail).With("with %d at once: %d and %d of %d; the same alone: %d of %d are well", size, len(first.bad), len(again.bad), size, alone, len(asked))
	if dead {
		f = f.With("one request alone fails after it too")
	}
	return f, nil
}

// overlap returns the largest number of answers that were being written at one moment. A
// stream that came in one piece shows no writing, and counts while it was waited for.
func overlap(steps []step) int {
	type edge struct {
		at    time.Time
		delta int
	}
	var edges []edge
	for _, t := range steps {
		if t.err != nil {
			continue
		}
		tm := t.answer.Timing
		from, to := tm.FirstToken, tm.LastToken
		if to <= from {
			from, to = 0, tm.Ended
		}
		edges = append(edges, edge{tm.Began.Add(from), 1}, edge{tm.Began.Add(to), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(a.at.Compare(b.at), a.delta-b.delta) // one that ends makes room first
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.delta
		most = max(most, now)
	}
	return most
}
