package correctness

import (
	"context"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// blame says under which condition a failure stands. Before anything else is blamed the
// easiest question is put again, short, cold and alone: where that is wrong too, and was
// right before, it is time that broke the server, whatever the check was about.
func (s Subject) blame(ctx context.Context, f gates.Finding, c gates.Condition) gates.Finding {
	if ended(ctx) {
		return f
	}
	wrong := 0
	for range 2 {
		t := s.floor(ctx)
		if t.unanswered() || !t.right() {
			wrong++
		}
	}
	switch {
	case wrong < 2:
		return f.Under(c)
	case s.WasRight():
		return f.Under(gates.Time).With("asked again short, cold and alone, a code is not given back any more, which it was before")
	}
	return f.Under(gates.Alone)
}

// floor puts the easiest question.
func (s Subject) floor(ctx context.Context) trial {
	return s.put(ctx, "", s.Canaries().Issue())
}

// put asks for a code behind some prose, alone.
func (s Subject) put(ctx context.Context, prose string, want gates.Canary) trial {
	t := trial{want: want, request: question(prose, want)}
	t.answer, t.err = s.Ask(ctx, t.request)
	t.judge(s)
	return t
}

// fresh returns prose that no run has sent before, so that nothing of it is in a cache.
func (s Subject) fresh() *endpoint.Prose {
	seed := uint64(0)
	for _, d := range s.Canaries().Issue().String() + s.Canaries().Issue().String() {
		seed = seed*10 + uint64(d-'0')
	}
	return endpoint.NewProse(seed)
}
