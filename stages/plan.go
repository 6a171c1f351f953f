package stages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"infbench/gates"
)

// Plan is an ordered list of stages about one subject.
type Plan struct {
	stages  []Stage
	subject func() gates.Subject
	scrub   func(string) string
}

// NewPlan returns a plan, or an error when the stages are not strictly ascending:
// a cheaper stage always runs before a dearer one. subject says what the verdicts
// are about; it is asked after the stages that find that out. scrub takes secrets
// and host names out of every verdict; nil leaves them as they are. A gated stage
// needs all four stages before it: one that has nothing to look at is [Skipped], not
// left out.
func NewPlan(subject func() gates.Subject, scrub func(string) string, stages ...Stage) (Plan, error) {
	if len(stages) == 0 {
		return Plan{}, errors.New("a plan without a stage")
	}
	seen := map[gates.Stage]bool{}
	for i, s := range stages {
		if s.run == nil {
			return Plan{}, errors.New("an empty stage")
		}
		if i > 0 && s.number <= stages[i-1].number {
			return Plan{}, fmt.Errorf("stage %d cannot come after stage %d", s.number, stages[i-1].number)
		}
		if s.gated && len(seen) < 4 {
			return Plan{}, errors.New("stage 4 needs the stages 0 to 3 before it, skipped ones included")
		}
		seen[s.number] = true
	}
	if scrub == nil {
		scrub = func(s string) string { return s }
	}
	return Plan{stages: stages, subject: subject, scrub: scrub}, nil
}

// Result is what came of one stage.
type Result struct {
	Stage gates.Stage
	// Status is the zero Status when the stage did not run; NotRun then says why.
	Status   gates.Status
	NotRun   string
	Verdicts []gates.Verdict
	Took     time.Duration
}

// Report is what came of a plan.
type Report struct {
	Results     []Result
	Required    []string
	Started     time.Time
	Took        time.Duration
	Interrupted bool
}

// Run runs the stages in order and reports every one of them. ctx ends the run:
// with the cause [gates.ErrStopped] when a person stopped it. emit is called from
// the goroutine that runs the checks and must not block for long.
func (p Plan) Run(ctx context.Context, emit func(Event)) Report {
	rep := Report{Started: time.Now()}
	for _, s := range p.stages {
		rep.Required = append(rep.Required, s.ids...)
	}
	cleaned := func(e Event) {
		if f, ok := e.(CheckFinished); ok {
			e = CheckFinished{f.Verdict.Redacted(p.scrub)}
		}
		emit(e)
	}
	for _, s := range p.stages {
		why := rep.stop(ctx)
		var proof gates.GateSet
		if why == "" && s.gated {
			if proof, why = p.prove(rep); why != "" {
				why = gates.Printable(p.scrub(why), 300)
			}
		}
		if why != "" {
			rep.Results = append(rep.Results, Result{Stage: s.number, NotRun: why})
			emit(StageNotRun{gates.NotRun{Stage: s.number, Why: why}})
			continue
		}
		emit(StageStarted{s.number, len(s.ids), s.cost})
		start := time.Now()
		verdicts := s.run(ctx, proof, cleaned)
		for i, v := range verdicts {
			verdicts[i] = v.Redacted(p.scrub)
		}
		status, _ := gates.Summarise(verdicts)
		res := Result{Stage: s.number, Status: status, Verdicts: verdicts, Took: time.Since(start)}
		rep.Results = append(rep.Results, res)
		emit(StageFinished{res})
	}
	if errors.Is(context.Cause(ctx), gates.ErrStopped) {
		rep.Interrupted = true
		emit(Interrupted{})
	}
	rep.Took = time.Since(rep.Started)
	return rep
}

// stop returns why the next stage must not start, "" when it may.
func (r Report) stop(ctx context.Context) string {
	for _, res := range r.Results {
		if res.Status == gates.Failed {
			return fmt.Sprintf("stage %d failed", res.Stage)
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), gates.ErrStopped):
		return "interrupted"
	case ctx.Err() != nil:
		return "the time for the run was used up"
	}
	return ""
}

func (p Plan) prove(rep Report) (gates.GateSet, string) {
	var required []string
	for _, s := range p.stages {
		if !s.gated {
			required = append(required, s.ids...)
		}
	}
	var verdicts []gates.Verdict
	for _, res := range rep.Results {
		verdicts = append(verdicts, res.Verdicts...)
	}
	proof, err := gates.Prove(p.subject(), required, verdicts)
	if err != nil {
		return gates.GateSet{}, err.Error()
	}
	return proof, ""
}

// Ledger returns everything that was asked and what came of it.
func (r Report) Ledger(subject gates.Subject) (gates.Ledger, error) {
	var verdicts []gates.Verdict
	var notRun []gates.NotRun
	for _, res := range r.Results {
		verdicts = append(verdicts, res.Verdicts...)
		if res.NotRun != "" {
			notRun = append(notRun, gates.NotRun{Stage: res.Stage, Why: res.NotRun})
		}
	}
	return gates.NewLedger(subject, r.Required, verdicts, notRun)
}

// The exit codes of a run. 64 (usage) is the command line's own.
const (
	ExitHealthy     = 0
	ExitWarnings    = 1
	ExitFailed      = 2
	ExitUsage       = 64
	ExitInterrupted = 130
)

// Exit returns the exit code of the run: interrupted, then failed, then warnings
// when anything was skipped, warned or not run, else healthy.
func (r Report) Exit() int {
	exit := ExitHealthy
	for _, res := range r.Results {
		switch {
		case res.Status == gates.Failed:
			exit = max(exit, ExitFailed)
		case res.NotRun != "", res.Status == gates.Warned, res.Status == gates.Skipped:
			exit = max(exit, ExitWarnings)
		}
	}
	if r.Interrupted {
		return ExitInterrupted
	}
	return exit
}
