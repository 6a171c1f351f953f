package correctness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/uncached",
	Doc: `with the cache and without it the text is the same, token for token

Where an engine can leave its prefix cache out, or drop it, the same question is answered by the same weights over the same tokens, computed at once or resumed. Open
questions behind some prose are asked without the cache, then from it; texts may part at a near tie, since chunks of another size sum in another order, and nowhere else.`,
	Since:  "0.3.0",
	Cost:   4 * time.Second,
	Modes:  []string{"CAC-01", "CAC-07", "CAC-11", "NUM-10"},
	Faults: []string{"far-warm"},
	Causes: []string{"the engine resumes wrongly from cached blocks", "cached keys and values are kept in a coarser form than they were computed in"},
	Next:   []string{"the same server with prefix caching off", "the KV cache unquantised"},
	Run:    uncached,
}, sizing{4, func(r room) Work {
	return asks(3*uncachedIn(r), 12*endpoint.TokensPerSentence, openTokens)
}})

// uncachedIn returns how many questions are compared.
func uncachedIn(r room) int {
	n := min(6, max(4, r.most(12)))
	for n < r.most(12) && r.affords(asks(3*(n+1), 12*endpoint.TokensPerSentence, openTokens)) {
		n++
	}
	return n
}

func uncached(ctx context.Context, ep Subject) (gates.Finding, error) {
	if why := ep.Unable(endpoint.PrefixCache); why != "" {
		return gates.NotApply("%s", why), nil
	}
	var l ladder
	how, hits, unstable := "", 0, 0
	for i := range uncachedIn(ep.room("correctness/uncached")) {
		r := openQuestion(ep.fresh().Sentences(10), i)
		cold, by, err := ep.withoutCache(ctx, r, ep.Canaries().Issue().String())
		if lost := (*undropped)(nil); errors.As(err, &lost) {
			return gates.Skip("the engine did not drop its cache when it was told to: %v", lost.why), nil
		}
		if err != nil {
			return gates.Finding{}, err
		}
		if by == "" {
			return gates.NotApply("no way to leave the prefix cache of this engine out is known"), nil
		}
		how = by
		if _, err := ep.text(ctx, r); err != nil { // fills the cache
			return gates.Finding{}, err
		}
		warm, err := ep.text(ctx, r)
		if err != nil {
			return gates.Finding{}, err
		}
		if warm.Usage.Cached.Or(0) > cold.Usage.Cached.Or(0) {
			hits++
		}
		d, err := ep.differ(ctx, r, cold, warm)
		if err != nil {
			return gates.Finding{}, err
		}
		if d.rung != equal {
			steady, err := ep.steady(ctx, r, warm)
			if err != nil {
				return gates.Finding{}, err
			}
			if !steady {
				unstable++
				continue
			}
		}
		l.add(d)
	}
	if unstable > l.pairs() {
		return gates.Skip("%d of %d texts differ from the cache when they are asked again: the cache is not to be told from that", unstable, l.pairs()+unstable).
			Then("correctness/determinism says by how much repeats differ"), nil
	}
	what := fmt.Sprintf("without the cache (%s) and from it", how)
	if hits > 0 {
		what += fmt.Sprintf(", %d of %d hits shown by cached tokens", hits, l.pairs())
	}
	switch l.grade(ep.options.Invariant) {
	case gradeEqual:
		return gates.Pass("%d of %d texts are equal %s", l.pairs(), l.pairs(), what), nil
	case gradeTooMuch:
		f := gates.Fail("%d of %d texts differ %s, beyond near ties", l.differing(), l.pairs(), what)
		return ep.blame(ctx, f.With("%s", l.says()).With("%s", l.worst.says()), gates.Cache), nil
	default:
	}
	f := gates.Pass("%d of %d texts are equal %s; the others part at near ties (less than %.1f nats), as far as logprobs tell", l.counts[equal], l.pairs(), what, tieNats)
	if l.counts[unexplained] > l.counts[nearTie] || l.counts[doubtful]+l.counts[implausible] > 0 {
		f = gates.Warn("%d of %d texts differ %s", l.differing(), l.pairs(), what).Under(gates.Cache)
	}
	return f.With("%s", l.says()).With("%s", l.worst.says()), nil
}

// withoutCache asks in the form that leaves the cache out, or after the cache was dropped;
// by is "" where the engine has neither.
func (s Subject) withoutCache(ctx context.Context, r endpoint.Request, salt string) (a endpoint.Answer, by string, err error) {
	cold, by := s.Cold(r, salt)
	if by == "" {
		f, ok := s.Engine().(endpoint.CacheFlusher)
		if !ok {
			return endpoint.Answer{}, "", nil
		}
		switch err := f.FlushCache(ctx); endpoint.FateOf(err) {
		case endpoint.Answered:
		case endpoint.Declined:
			return endpoint.Answer{}, "", nil // a server that will not drop its cache has no way without it
		case endpoint.TurnedAway, endpoint.Broken:
			return endpoint.Answer{}, "", &undropped{err}
		}
		by = "dropped before"
	}
	a, err = s.text(ctx, cold)
	return a, by, err
}

// undropped says why a cache could not be dropped by a server that has a way to.
type undropped struct{ why error }

func (u *undropped) Error() string { return u.why.Error() }
