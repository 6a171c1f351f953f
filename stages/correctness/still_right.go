package correctness

import (
	"context"
	"time"

	"infbench/gates"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/still-right",
	Doc: `after all of this the server is as right as it was before

Some faults stay: a batch, a dropped stream or a constrained answer spoils the engine's state, and every later request has it, alone and short as it may be,
until a restart. The other checks then take the model for a weak one. The easiest question, which was answered rightly before, is put again at the end.`,
	Since:  "0.2.0",
	Cost:   time.Second,
	Modes:  []string{"CAC-04", "CON-07", "AGT-01"},
	Faults: []string{"wrong-digit-after-1"},
	Causes: []string{"state that company has spoiled: a cache, a grammar's masks, blocks that were freed in use", "drafts of speculative decoding that are not rolled back"},
	Next:   []string{"restart the server and run stage 2: is it right again until there is company?", "infbench stage3 --target URL with each of the server's caches off in turn"},
	Late:   true,
	Run:    stillRight,
}, sizing{1, func(room) Work { return asks(4, 45, answerTokens) }})

func stillRight(ctx context.Context, ep Subject) (gates.Finding, error) {
	floor := func() (trial, error) {
		t := trial{want: ep.Canaries().Issue()}
		t.answer, t.err = ep.Ask(ctx, question("", t.want))
		t.judge(ep)
		return t, t.err
	}
	if !ep.WasRight() { // stage 2 was not run on it
		t, err := floor()
		if err != nil {
			return gates.Finding{}, err
		}
		if !t.right() {
			return gates.Skip("this model gives no code back, alone and short: whether it once did is not known").With("%s", t.says()), nil
		}
	}
	var wrong []trial
	const asked = 3
	for range asked {
		t, err := floor()
		if err != nil {
			return gates.Finding{}, err
		}
		if !t.right() {
			wrong = append(wrong, t)
		}
	}
	switch len(wrong) {
	case 0:
		return gates.Pass("%d of %d codes given back at the end", asked, asked), nil
	case 1: // a small model slips now and then
		return gates.Pass("2 of %d codes given back at the end", asked).With("%s", wrong[0].says()), nil
	}
	return gates.Fail("a code was given back before, and at the end %d of %d are not, alone and from one sentence", len(wrong), asked).With("%s", wrong[0].says()).Under(gates.Time), nil
}
