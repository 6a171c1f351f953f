package correctness

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/determinism",
	Doc: `an idle server answers a repeated question the same way at temperature 0

Races, atomics in expert routing and a broken all-reduce make idle repeats differ. Questions are repeated with a seed and without one. Another
wording at a near tie is a warning with its rate; a word that was not likely, or a code that is right in one repeat and wrong in the next, is a failure.`,
	Since:  "0.1.0",
	Cost:   5 * time.Second,
	Modes:  []string{"DET-01", "DET-05", "NUM-08", "IDN-06"},
	Faults: []string{"nondeterministic", "wrong-digit-every-2"},
	Causes: []string{"a race in the engine, or an all-reduce over a broken path", "several replicas behind one address", "the server overrides the temperature"},
	Next:   []string{"the same server on one device", "ten requests over new connections: do two kinds of answer appear?"},
	Run:    determinism,
}, sizing{4, func(r room) Work { return asks((repeatsIn(r)+1)*len(repeated), 60, openTokens) }})

// repeated are the questions that are put again and again: what each is beside the code.
var repeated = []struct {
	text   string
	seeded bool
}{
	{"", true},
	{"Count from 1 to 30, separated by commas.", true},
	{"Describe a harbour in the morning in two sentences.", true},
	{"Describe an old bridge in two sentences.", false},
}

// repeatsIn returns how often each question is repeated: four times at least.
func repeatsIn(r room) int {
	n := 4
	for n < r.most(8) && r.affords(asks((n+2)*len(repeated), 60, openTokens)) {
		n++
	}
	return n
}

func determinism(ctx context.Context, ep Subject) (gates.Finding, error) {
	repeats := repeatsIn(ep.room("correctness/determinism"))
	c := ep.Canaries().Issue()
	var l ladder
	example := ""
	for i, q := range repeated {
		r := endpoint.Chat(q.text).MaxTokens(openTokens)
		if q.text == "" {
			r = question("", c)
		}
		if !q.seeded {
			r = r.Unseeded()
		}
		// The first answer fills the cache; cold against warm is another check's question.
		ask := ep.text
		if q.text == "" {
			ask = ep.Ask
		}
		if _, err := ask(ctx, r); err != nil {
			return gates.Finding{}, err
		}
		var base endpoint.Answer
		right := map[bool]endpoint.Answer{}
		for k := range repeats {
			a, err := ask(ctx, r)
			if err != nil {
				return gates.Finding{}, err
			}
			echo, _ := ep.Canaries().Judge(a.Visible(), c)
			right[echo == gates.Found] = a
			if k == 0 {
				base = a
				continue
			}
			var d difference
			if shown(a) != shown(base) {
				if d, err = ep.differ(ctx, r, base, a); err != nil {
					return gates.Finding{}, err
				}
				if example == "" {
					example = d.says()
				}
			}
			l.add(d)
		}
		if i == 0 && len(right) == 2 {
			f := gates.Fail("the same question at temperature 0 is answered right and wrong by turns").With("asked for %s", c)
			return ep.blame(ctx, f.With("right: %s", right[true].Says()).With("wrong: %s", right[false].Says()), gates.Alone), nil
		}
	}
	switch l.grade(ep.options.Invariant) {
	case gradeTooMuch:
		f := gates.Fail("repeats on an idle server differ beyond near ties: %d of %d are equal", l.counts[equal], l.pairs())
		return f.With("%s", l.says()).With("%s", l.worst.says()).Under(gates.Alone), nil
	case gradeDrift:
		return gates.Warn("%d of %d repeats on an idle server are equal", l.counts[equal], l.pairs()).With("%s", l.says()).With("%s", example).Under(gates.Alone), nil
	default:
	}
	return gates.Pass("%d of %d repeats equal, with a seed and without (a difference in fewer than %.0f %% might not have shown)", l.counts[equal], l.pairs(), 300/float64(l.pairs())), nil
}
