package stages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"infbench/gates"
)

// Stage is one step of a plan: checks and how their subject comes about.
type Stage struct {
	number gates.Stage
	ids    []string
	cost   time.Duration
	gated  bool
	run    func(ctx context.Context, proof gates.GateSet, emit func(Event)) []gates.Verdict
}

// Number returns which stage it is.
func (s Stage) Number() gates.Stage { return s.number }

// Checks returns the ids of the stage's checks.
func (s Stage) Checks() []string { return append([]string(nil), s.ids...) }

// States returns the stage as one that says itself, when it is opened, what it is going to
// cost: what its checks cost on the average is then no second opinion.
func (s Stage) States() Stage {
	s.cost = 0
	return s
}

// Bind makes a stage whose subject is there already.
func Bind[S any](subject S, checks []gates.Check[S]) (Stage, error) {
	return Opened(func(context.Context) (S, error) { return subject, nil }, checks)
}

// Opened makes a stage whose subject is opened when the stage begins. Where opening
// fails, every check of the stage could not be asked and has failed.
func Opened[S any](open func(context.Context) (S, error), checks []gates.Check[S]) (Stage, error) {
	return newStage(false, func(ctx context.Context, _ gates.GateSet, _ func(Event)) (S, error) { return open(ctx) }, checks)
}

// Gated makes a stage that is opened with the proof of the stages before it.
func Gated[S any](open func(context.Context, gates.GateSet, func(Event)) (S, error), checks []gates.Check[S]) (Stage, error) {
	return newStage(true, open, checks)
}

// Skipped makes a stage that was given nothing to look at: each check says why.
func Skipped[S any](why string, checks []gates.Check[S]) (Stage, error) {
	s, err := newStage(false, func(context.Context, gates.GateSet, func(Event)) (S, error) { panic("a skipped stage is not opened") }, checks)
	s.run = func(_ context.Context, _ gates.GateSet, emit func(Event)) []gates.Verdict {
		var out []gates.Verdict
		for _, id := range s.ids {
			v := gates.Unasked(id, why)
			emit(CheckFinished{v})
			out = append(out, v)
		}
		return out
	}
	s.cost = 0
	return s, err
}

// checkLimit bounds one check: a server that accepts and never answers must not
// hold a run for ever.
func checkLimit(cost time.Duration) time.Duration { return max(10*time.Minute, 20*cost) }

func newStage[S any](gated bool, open func(context.Context, gates.GateSet, func(Event)) (S, error), checks []gates.Check[S]) (Stage, error) {
	if len(checks) == 0 {
		return Stage{}, errors.New("a stage without a check proves nothing")
	}
	out := Stage{gated: gated}
	for i, c := range checks {
		number, err := gates.StageOf(c.ID)
		if err != nil {
			return Stage{}, err
		}
		if i > 0 && number != out.number {
			return Stage{}, fmt.Errorf("%s does not belong to stage %d", c.ID, out.number)
		}
		out.number = number
		out.ids = append(out.ids, c.ID)
		out.cost += c.Cost
	}
	if gated != (out.number == gates.Performance) {
		return Stage{}, fmt.Errorf("stage %d: measuring, and only measuring, is gated", out.number)
	}
	out.run = func(ctx context.Context, proof gates.GateSet, emit func(Event)) []gates.Verdict {
		subject, err := open(ctx, proof, emit)
		var verdicts []gates.Verdict
		for _, c := range checks {
			if err != nil {
				// Asked of nothing, each check says the same: why it could not be asked.
				failure := err
				c.Run = func(context.Context, S) (gates.Finding, error) { return gates.Finding{}, failure }
				c.Needs = nil
			}
			emit(CheckStarted{c.ID, c.Cost})
			v := runOne(ctx, c, subject)
			verdicts = append(verdicts, v)
			emit(CheckFinished{v})
		}
		return verdicts
	}
	return out, nil
}

func runOne[S any](ctx context.Context, c gates.Check[S], subject S) gates.Verdict {
	limit := checkLimit(c.Cost)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return gates.Run(ctx, c, subject)
}
