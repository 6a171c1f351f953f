// Package performance is stage 4: how fast, for whom, under which arrivals.
//
// [Measure] cannot be called without a [gates.GateSet]: measuring first and judging
// later does not compile. It drives a sweep of arrival models, keeps every request
// that it started, and hands out [record.Measurements], which only a performance
// record can write down. The checks then ask of what was measured whether it may be
// believed.
//
// The one rule: an answer that is cut, empty, wrong or degenerate has no speed. A
// level that holds one is void, and so is a level in which the harness itself was late.
package performance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

var checks gates.Registry[*Sweep]

// Checks returns the checks of stage 4.
func Checks() []gates.Check[*Sweep] { return checks.All() }

// Infos returns the documentation of the checks.
func Infos() []gates.Info { return checks.Infos() }

// Config says what is sent. [DefaultConfig] fits any chat model.
type Config struct {
	// Workload is one of [Workloads]; "" lets the arrival models and PromptTokens decide, see
	// [WorkloadOf].
	Workload string
	// PromptTokens is the length of independent prompts, 0 for [defaultPromptTokens]; it
	// shrinks to a context that cannot hold it. OutputTokens is that of answers.
	PromptTokens, OutputTokens int
	// PerLevel is the least time for which a level starts requests. A slow server gets
	// more, so that each level has at least a few of them.
	PerLevel time.Duration
	// Requests ends a level early; 0 is no limit.
	Requests int
	// PastSaturation goes on to heavier levels when more load only makes people wait longer.
	PastSaturation bool
	// Depths are the prompt lengths of the ladder in tokens, ascending; none is no ladder.
	Depths []int
	// Tiers are what the requests are held to.
	Tiers []record.Tier
	// Seed makes the prompts.
	Seed uint64
	// CountTokens counts the tokens of an answer where the server counts none;
	// TokenizedBy names the counter. Both may be absent.
	CountTokens func(text string) (int, error)
	TokenizedBy string
	// Keep is asked once where to keep what is measured, when it is known what will be sent; an
	// error of it is one of [Measure]. nil keeps nothing.
	Keep func(record.Workload) (Keeping, error)
	// Turn is called before each load point, and waits until it may be measured: where several
	// measurements share a machine. Beside says so in words. nil waits for nothing.
	Turn   func() error
	Beside []string
	// Calibrate finds out the client's own error before and beside each level, against a server of
	// known timing in this process.
	Calibrate bool
	// Again puts the questions of the gates once more after the measurement, and returns what came
	// of them; nil puts none.
	Again func(context.Context) []gates.Verdict
	// Devices reads the accelerators of the engine's machine.
	Devices Devices
	// Grace is what requests in flight get to finish after a person stopped the run.
	Grace time.Duration

	late time.Duration // makes the harness late, to prove that it notices
}

// defaultPromptTokens is the length of independent prompts.
const defaultPromptTokens = 512

// DefaultConfig returns what is sent when nothing else is said: an agent's sessions, 64
// output tokens, ten seconds a level.
func DefaultConfig() Config {
	return Config{OutputTokens: 64, PerLevel: 10 * time.Second, Depths: DefaultDepths(), Calibrate: true, Grace: 5 * time.Second}
}

// Progress says how far a measurement is. It holds no figure but in Live.
type Progress struct {
	// Index counts the levels from 0, Of is their number.
	Index, Of int
	Arrival   string
	// Depth is that of a rung of the ladder in tokens, 0 for a level.
	Depth    int
	Expected time.Duration
	// Restored says that an earlier sitting has measured it.
	Restored bool
	// Finished levels have these counts.
	Finished     bool
	Issued, Good int
	// Live is a look at the level while it is measured, with the time that this level and
	// the later ones are expected to take yet; zero at its beginning and end.
	Live record.Live
	Left time.Duration
	// Sofar is what was measured up to here, so that it can be kept if the run is
	// killed; nil before the first level has finished.
	Sofar *Sweep
}

// Sweep is what a measurement came to: the subject of stage 4's checks.
type Sweep struct {
	ep       endpoint.Endpoint
	levels   []levelResult
	workload record.Workload
	planned  int
	able     bool // the model gives codes back from prompts of this shape, alone
	tiers    []record.Tier
	// stopped says why the sweep ended before its last level, "" when it did not.
	stopped string
	// ended says why more load was not tried, "" when all was.
	ended      string
	rungs      []rung
	depthsLeft []string
	// again puts the questions of the gates once more; nil puts none.
	again func(context.Context) []gates.Verdict
	// suite is what was sent where it is a frozen one.
	suite   *frozen
	changed bool
}

// Changed reports whether the server was seen to be another one, or another
// configuration, after the measurement: the numbers are then about nothing. A server
// that no longer answers has not been seen to change.
func (s *Sweep) Changed() bool { return s.changed }

// Stopped returns why the sweep ended early, "" when it did not.
func (s *Sweep) Stopped() string { return s.stopped }

// Levels returns the number of levels that were measured.
func (s *Sweep) Levels() int { return len(s.levels) }

// everything returns the levels and the rungs of the ladder.
func (s *Sweep) everything() []levelResult {
	out := slices.Clone(s.levels)
	for _, r := range s.rungs {
		out = append(out, r.levelResult)
	}
	return out
}

// Measurements returns what was measured, for a performance record; an error when
// no level was finished.
func (s *Sweep) Measurements() (record.Measurements, error) {
	var levels []record.Level
	for _, l := range s.levels {
		levels = append(levels, l.level)
	}
	w := s.workload
	if s.ended != "" && len(s.levels) < s.planned {
		w.Caveats = append(w.Caveats[:len(w.Caveats):len(w.Caveats)], fmt.Sprintf("the sweep ended after %d of %d levels: %s", len(s.levels), s.planned, s.ended))
	}
	m, err := record.NewMeasurements(w, levels)
	if err != nil {
		return m, err
	}
	if s.suite != nil {
		return m.WithFrozen(s.frozenOf())
	}
	if m, err = m.WithLadder(s.ladderOf()); err != nil {
		return m, err
	}
	return m.HeldTo(record.Objectives{Tiers: s.tiers, Codes: s.able})
}

// Measure drives the levels of the model one after another against the endpoint that
// the proof is about. It returns what was measured when ctx ends or the server stops
// answering; an error means that nothing was. progress is never called twice at once, but
// for a look at a running level from another goroutine than the caller's.
func Measure(ctx context.Context, ep endpoint.Endpoint, proof gates.GateSet, model arrival.ArrivalModel, c Config, progress func(Progress)) (*Sweep, error) {
	switch {
	case !proof.Satisfied():
		return nil, &record.UngatedResultError{Reason: "measuring needs a satisfied gate set"}
	case model.IsZero():
		return nil, &record.UnmodelledArrivalError{Reason: "measuring needs an arrival model"}
	}
	levels := model.Levels()
	w, err := prepare(ctx, ep, c, WorkloadOf(c, levels))
	if err != nil {
		return nil, err
	}
	w.proof = proof
	w.caveats = append(w.caveats, c.Beside...)
	if c.Keep != nil {
		if w.keep, err = c.Keep(w.describe()); err != nil {
			return nil, err
		}
		w.caveats = append(w.caveats, w.keep.Caveats...)
	}
	defer Quiet()()
	s := &Sweep{ep: ep, planned: len(levels), able: w.able, workload: w.describe(), tiers: c.Tiers, again: c.Again}
	for i, m := range levels {
		if ctx.Err() != nil {
			s.stopped = why(ctx)
			break
		}
		at := Progress{Index: i, Of: len(levels), Arrival: m.String(), Expected: w.expected(m)}
		l, err := w.watched(ctx, at, m, w.expectedOf(levels[i+1:]), progress, func() (levelResult, error) { return w.level(ctx, m) })
		if err != nil {
			if len(s.levels) == 0 {
				return nil, err
			}
			s.stopped = err.Error()
			break
		}
		s.levels = append(s.levels, l)
		progress(Progress{Index: i, Of: len(levels), Arrival: m.String(), Finished: true, Issued: l.issued - l.warmup, Good: l.good, Sofar: s})
		if s.ended = s.enough(); s.ended != "" && !c.PastSaturation {
			break
		}
		if l.dead {
			s.stopped = "the server stopped answering in the level of " + m.String()
			break
		}
	}
	if s.stopped == "" && len(s.levels) > 0 {
		w.ladder(ctx, s, progress)
	}
	if s.stopped == "" && ctx.Err() != nil {
		s.stopped = why(ctx)
	}
	if w.cutShort != "" {
		s.workload.Caveats = append(s.workload.Caveats, w.cutShort+" was cut short: the run was stopped in it, and its figures are of the requests until then")
	}
	if len(s.levels) == 0 {
		return nil, errors.New("nothing was measured: " + s.stopped)
	}
	return s, nil
}

func why(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), gates.ErrStopped) {
		return "interrupted"
	}
	return "the time for the run was used up"
}

// client describes the machine that measured.
func client() string {
	return fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}
