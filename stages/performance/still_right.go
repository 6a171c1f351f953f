package performance

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// stillAsked is how many questions are put after the load: two of three wrong is more than a
// slip of the model.
const stillAsked = 3

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/still-right",
	Doc: `after the measurement the server still says the right thing

The gates were passed before the load. An engine whose cache or memory was spoilt by it answers wrongly from then on, and its last figures
may be of that already. Codes that the model gave back before the load are asked for again, short and alone; after a baseline all questions of stage 2 are put again.`,
	Since:  "0.1.0",
	Cost:   2 * time.Second,
	Late:   true,
	Modes:  []string{"CON-07", "OPS-04"},
	Faults: []string{"wrong-digit-after", "http500-after"},
	Causes: []string{"cache blocks that the load left wrong", "a worker that died under the load"},
	Next:   []string{"infbench stage2 --target URL", "a restart, and stage 3 before the next load"},
	Run: func(ctx context.Context, s *Sweep) (gates.Finding, error) {
		if s.again != nil {
			return gatesAgain(s.again(ctx)), nil
		}
		if !s.able {
			return gates.NotApply("the model did not give codes back before the load"), nil
		}
		right, example := 0, ""
		for range stillAsked {
			code := s.ep.Canaries().Issue()
			a, err := s.ep.Ask(ctx, endpoint.Chat("The secret code is "+code.String()+". What is the secret code?").MaxTokens(128))
			if err != nil {
				example = err.Error()
				if ctx.Err() != nil {
					return gates.Finding{}, err
				}
				continue
			}
			if echo, _ := s.ep.Canaries().Judge(a.Content+a.Reasoning, code); echo == gates.Found {
				right++
			} else {
				example = "answered " + gates.Quote(a.Content, 80)
			}
		}
		switch {
		case right == stillAsked:
			return gates.Pass("%d of %d codes given back after the load", right, stillAsked), nil
		case right*2 > stillAsked:
			return gates.Warn("%d of %d codes given back after the load; every one before it", right, stillAsked).With("%s", example), nil
		}
		return gates.Fail("%d of %d codes given back after the load; every one before it", right, stillAsked).With("%s", example), nil
	},
})

// gatesAgain judges by the questions of the gates, put once more. Those that failed before did
// not let a measurement begin.
func gatesAgain(verdicts []gates.Verdict) gates.Finding {
	var failed []string
	for _, v := range verdicts {
		if v.Status() == gates.Failed {
			failed = append(failed, v.Check()+": "+v.Summary())
		}
	}
	switch {
	case len(verdicts) == 0:
		return gates.Skip("no question was put again")
	case len(failed) > 0:
		return gates.Fail("%d of %d checks that had passed before the measurement fail after it", len(failed), len(verdicts)).With("%s", strings.Join(failed, "; "))
	}
	return gates.Pass("all %d checks of stage 2 hold after the measurement too", len(verdicts))
}
